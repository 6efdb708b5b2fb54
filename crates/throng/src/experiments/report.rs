//! A report of measured sections, for people: one self-contained HTML page, Markdown, CSV.
