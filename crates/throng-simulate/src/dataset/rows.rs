//! The rows of a CSV file (RFC 4180), zipped or not, in bounded memory, each with the line that it starts on.

use std::io::{self, Cursor, ErrorKind, Read};

use ::csv::{ByteRecord, Reader, ReaderBuilder, Terminator};
use anyhow::{Context, Result, anyhow, ensure};
use flate2::read::MultiGzDecoder;

/// Reads one row after the other. Lines without anything on them are no rows.
pub(super) struct Rows<'a> {
    reader: Reader<Guard<'a>>,
    record: ByteRecord,
    zipped: bool,
    line: u64,
}

/// One row.
pub(super) struct Row<'a> {
    /// The line on which it starts; the first is 1.
    pub(super) line: u64,
    record: &'a ByteRecord,
}

impl<'a> Rows<'a> {
    /// The rows of a file. Whether it is zipped is told from its first bytes: names lie, and a pipe has none.
    pub(super) fn new(mut input: impl Read + 'a) -> Result<Self> {
        let head = read_head(&mut input, GZIP_MAGIC.len())?;
        let zipped = head == GZIP_MAGIC;
        let bytes = Cursor::new(head).chain(input);
        let mut bytes: Box<dyn Read + 'a> =
            if zipped { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) };
        // The parser takes the mark for the end of the file if it reads nothing else at first.
        let head =
            read_head(&mut bytes, BYTE_ORDER_MARK.len()).map_err(|error| unreadable(error, zipped, 0))?;
        let head = if head == BYTE_ORDER_MARK.as_bytes() { Vec::new() } else { head };
        let bytes = Cursor::new(head).chain(bytes);
        // With a line feed at its end every row ends in one, so that the parser's position says on which line the
        // row began. The parser's own rule for line ends would leave it open whether a line feed is still to come.
        let guard = Guard { input: Box::new(bytes.chain(&b"\n"[..])), left: ROW_BYTES_MAX, ended: false };
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .buffer_capacity(1 << 16)
            .from_reader(guard);
        Ok(Self { reader, record: ByteRecord::new(), zipped, line: 0 })
    }

    /// The next row, or nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>> {
        loop {
            self.reader.get_mut().left = ROW_BYTES_MAX;
            match self.reader.read_byte_record(&mut self.record) {
                Err(error) => return Err(self.unparsable(error)),
                Ok(false) => return Ok(None),
                Ok(true) => {}
            }
            // A row that only the end of the file ended is one whose quote swallowed the last line feed.
            let ended = self.reader.get_ref().ended;
            let inside = self.record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
            self.line = self.reader.position().line() - inside - u64::from(!ended);
            ensure!(!ended, "line {}: a quote is opened and never closed; close it", self.line);
            if !self.is_blank() {
                return Ok(Some(Row { line: self.line, record: &self.record }));
            }
        }
    }

    /// A line that holds nothing but a carriage return; the parser skips those that hold nothing at all. What was
    /// written as two quotes is an empty text, and longer.
    fn is_blank(&self) -> bool {
        let start = self.record.position().map_or(0, ::csv::Position::byte);
        let length = self.reader.position().byte() - start;
        self.record.len() == 1 && &self.record[0] == b"\r" && length < b"\"\"\r\n".len() as u64
    }

    fn unparsable(&self, error: ::csv::Error) -> anyhow::Error {
        let ::csv::ErrorKind::Io(error) = error.into_kind() else {
            return anyhow!("the row after line {} cannot be parsed", self.line);
        };
        if self.reader.get_ref().left == 0 {
            return anyhow!(
                "the row after line {} is longer than 1 MiB; is a quote in it never closed?",
                self.line
            );
        }
        unreadable(error, self.zipped, self.line)
    }
}

impl Row<'_> {
    /// The number of fields.
    pub(super) fn len(&self) -> usize {
        self.record.len()
    }

    /// Checks that it has as many fields as the header.
    pub(super) fn check_len(&self, header: usize) -> Result<()> {
        ensure!(
            self.len() == header,
            "line {}: {} where the header has {header}; leave no field out, and put quotes around what has commas in it",
            self.line,
            if self.len() == 1 { "1 field".into() } else { format!("{} fields", self.len()) }
        );
        Ok(())
    }

    /// A field. Panics if there is none of that number. A carriage return that ends the last one belongs to the line end.
    pub(super) fn text(&self, at: usize) -> Result<&str> {
        let bytes = &self.record[at];
        let bytes = if at + 1 == self.len() { bytes.strip_suffix(b"\r").unwrap_or(bytes) } else { bytes };
        str::from_utf8(bytes)
            .ok()
            .with_context(|| format!("line {}: not UTF-8; save the file as UTF-8", self.line))
    }

    /// All fields.
    pub(super) fn texts(&self) -> Result<Vec<String>> {
        (0..self.len()).map(|at| self.text(at).map(str::to_owned)).collect()
    }
}

/// Stands between a file and the parser, which would read a row of any length.
struct Guard<'a> {
    input: Box<dyn Read + 'a>,
    /// How many bytes may still be read for this row.
    left: usize,
    /// Whether the end of the file was seen.
    ended: bool,
}

impl Read for Guard<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("the row is too long"));
        }
        let end = buffer.len().min(self.left);
        let read = self.input.read(&mut buffer[..end])?;
        self.left -= read;
        self.ended |= read == 0;
        Ok(read)
    }
}

/// The first bytes of a file, fewer if it is shorter.
fn read_head(input: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.take(length as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// What to tell a person about a file that cannot be read beyond a line.
fn unreadable(error: io::Error, zipped: bool, line: u64) -> anyhow::Error {
    let damage = [ErrorKind::InvalidInput, ErrorKind::InvalidData, ErrorKind::UnexpectedEof];
    if zipped && damage.contains(&error.kind()) {
        anyhow!(
            "the gzip data is damaged or cut short after line {line}; get the file again, or zip it again"
        )
    } else {
        anyhow::Error::new(error).context(format!("cannot read on after line {line}"))
    }
}

const BYTE_ORDER_MARK: &str = "\u{feff}";
pub(super) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ROW_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines and fields of a file.
    fn rows(file: &[u8]) -> Result<Vec<(u64, Vec<String>)>> {
        let mut rows = Rows::new(file)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push((row.line, row.texts()?));
        }
        Ok(all)
    }

    fn complaint(file: &[u8]) -> String {
        format!("{:#}", rows(file).unwrap_err())
    }

    #[test]
    fn rows_know_their_lines_whatever_ends_them() {
        for end in ["\n", "\r\n"] {
            let file =
                ["a,b", "", "\"two", "lines\",1", "", "", "\"said \"\"no\"\", left\",2", "last,3"].join(end);
            let two = format!("two{end}lines");
            let expected = [
                (1, ["a", "b"]),
                (3, [two.as_str(), "1"]),
                (7, ["said \"no\", left", "2"]),
                (8, ["last", "3"]),
            ]
            .map(|(line, fields)| (line, fields.map(str::to_owned).to_vec()));
            assert_eq!(rows(file.as_bytes()).unwrap(), expected, "{end:?}");
            // With and without a line end at the end, and with empty lines there.
            assert_eq!(rows((file.clone() + end).as_bytes()).unwrap(), expected);
            assert_eq!(rows((file + end + end).as_bytes()).unwrap(), expected);
        }
    }

    #[test]
    fn an_empty_text_is_not_an_empty_line() {
        let texts = |file: &str| -> Vec<String> {
            rows(file.as_bytes()).unwrap().into_iter().flat_map(|(_, fields)| fields).collect()
        };
        assert_eq!(texts("a\n\"\"\n\nb\n"), ["a", "", "b"]);
        assert_eq!(texts("a\r\n\"\"\r\n\r\nb\r\n"), ["a", "", "b"]);
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_text() {
        assert_eq!(rows(b"\xef\xbb\xbfa,b\n").unwrap(), [(1, vec!["a".to_owned(), "b".to_owned()])]);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        assert!(rows(b"").unwrap().is_empty());
        assert_eq!(complaint(b"a\nb\nc\xff\n"), "line 3: not UTF-8; save the file as UTF-8");
        assert_eq!(complaint(b"a\nb,\"c\n\n\nd,1"), "line 2: a quote is opened and never closed; close it");
        assert_eq!(complaint(b"a\nb,\"c\n\n\nd,1\n"), "line 2: a quote is opened and never closed; close it");
        let mut long = b"a\n\"".to_vec();
        long.resize(3 << 20, b'x');
        assert!(complaint(&long).starts_with("the row after line 1 is longer than 1 MiB"));
    }
}
