//! Surveys as text, without parties. They are what tests change a line of: the text of a survey stands nowhere else.

/// A survey with these fields, in TOML: each part is an inline table. [`tables`] writes the same with a line for each field.
macro_rules! survey {
    (
        name: $name:literal,
        question: $question:expr,
        epoch_s: $epoch_s:literal,
        encoding: $encoding:expr,
        randomizer: $randomizer:expr,
        crowd: ($respondents:literal, $honest:literal, $enrolment:literal),
        envelopes: $envelopes:literal,
        epsilon_central: $epsilon:literal
        $(, $more:literal)? $(,)?
    ) => {
        concat!(
            "\nversion = 1\nname = \"", $name,
            "\"\nquestion = \"", $question,
            "\"\nepoch_s = ", $epoch_s,
            "\nencoding = { ", $encoding,
            " }\nrandomizer = { ", $randomizer,
            " }\ncrowd = { respondents_min = ", $respondents,
            ", honest_fraction = ", $honest,
            ", enrolment = \"", $enrolment,
            "\" }\ndelivery = { instances = 3, hops = 2, envelopes = ", $envelopes,
            ", cover = \"chaff\" }\nclaim = { epsilon_central = ", $epsilon,
            ", delta = 1e-6, neighbors = \"removal\", bound = \"exact\" }\n"
            $(, $more)?
        )
    };
}

/// A value of a field that several surveys have.
macro_rules! field {
    (pixel) => { "Which pixel of the drawing do you hold?" };
    (person) => { "How old are you, of which sex, and where do you live?" };
    (one-hot) => { "kind = \"one-hot\", domain = 784" };
    (record) => {
        "kind = \"record\", attributes = [{ name = \"age\", values = 9 }, { name = \"sex\", values = 2 }, { name = \"county\", values = 773 }]"
    };
    (attribute-fragments) => { "kind = \"attribute-fragments\", epsilon_local = 5.25" };
    (report-fragments) => {
        "kind = \"report-fragments\", epsilon_backstop = 5.25, epsilon_fragment = 4.0, fragments = 4"
    };
}

/// One of 784 values, once a day.
pub const SURVEY: &str = survey! {
    name: "which-pixel",
    question: field!(pixel),
    epoch_s: 86400,
    encoding: field!(one-hot),
    randomizer: field!(attribute-fragments),
    crowd: (100000, 0.9, "credential"),
    envelopes: 40,
    epsilon_central: 1.0,
};

/// A record of three attributes, as wide as [`SURVEY`].
pub const RECORD: &str = survey! {
    name: "people",
    question: field!(person),
    epoch_s: 86400,
    encoding: field!(record),
    randomizer: field!(attribute-fragments),
    crowd: (100000, 0.9, "credential"),
    envelopes: 40,
    epsilon_central: 1.0,
};

/// [`SURVEY`] behind a backstop, open to everybody.
pub const FRAGMENTED: &str = survey! {
    name: "which-pixel-daily",
    question: field!(pixel),
    epoch_s: 86400,
    encoding: field!(one-hot),
    randomizer: field!(report-fragments),
    crowd: (100000, 0.9, "open"),
    envelopes: 80,
    epsilon_central: 1.0,
};

/// Under the first label fragments go to all instances, under the second to two of them, under the third to one.
pub const PROFILES: &str = survey! {
    name: "which-pixel",
    question: field!(pixel),
    epoch_s: 86400,
    encoding: field!(one-hot),
    randomizer: field!(attribute-fragments),
    crowd: (100000, 0.9, "credential"),
    envelopes: 60,
    epsilon_central: 1.5,
    "[labels]\nnames = [\"all\", \"two\", \"one\"]\nepsilon_deletion = 0.2\ndelta_deletion = 1e-9\nprofiles = { two = [1, 3], one = [2] }\n",
};

/// Surveys with an epoch of an hour.
pub mod hourly {
    /// [`SURVEY`](super::SURVEY) every hour.
    pub const ONE_HOT: &str = survey! {
        name: "which-pixel",
        question: field!(pixel),
        epoch_s: 3600,
        encoding: field!(one-hot),
        randomizer: field!(attribute-fragments),
        crowd: (100000, 0.9, "credential"),
        envelopes: 40,
        epsilon_central: 1.0,
    };

    /// [`FRAGMENTED`](super::FRAGMENTED) every hour.
    pub const FRAGMENTED: &str = survey! {
        name: "which-pixel-hourly",
        question: field!(pixel),
        epoch_s: 3600,
        encoding: field!(one-hot),
        randomizer: field!(report-fragments),
        crowd: (100000, 0.9, "open"),
        envelopes: 80,
        epsilon_central: 1.0,
    };

    /// Records of three attributes, behind a backstop.
    pub const RECORD: &str = survey! {
        name: "people",
        question: field!(person),
        epoch_s: 3600,
        encoding: field!(record),
        randomizer: field!(report-fragments),
        crowd: (100000, 0.9, "open"),
        envelopes: 80,
        epsilon_central: 1.0,
    };

    /// A domain so large that a value does not come up by accident.
    pub const SKETCHED: &str = survey! {
        name: "which-word",
        question: "Which word did you miss?",
        epoch_s: 3600,
        encoding: "kind = \"sketch\", domain = 1000000000000, rows = 16, cells = 256, seed = 1",
        randomizer: "kind = \"report-fragments\", epsilon_backstop = 4.5, epsilon_fragment = 3.5, fragments = 3",
        crowd: (1000000, 1.0, "open"),
        envelopes: 80,
        epsilon_central: 2.0,
    };
}

/// A survey's text with other values of some fields, in TOML. A field that the survey has not is added; `[labels]` and what
/// follows it stays at the end.
pub fn with(text: &str, fields: &[(&str, &str)]) -> String {
    let (top, rest) = parted(text);
    let mut lines: Vec<String> = top.lines().map(str::to_owned).collect();
    for (name, value) in fields {
        let line = format!("{name} = {value}");
        match lines.iter_mut().find(|line| line.split(" = ").next() == Some(name)) {
            Some(old) => *old = line,
            None => lines.push(line),
        }
    }
    lines.join("\n") + "\n" + rest
}

/// The same survey as a person writes it: a table for each part that is an inline table, and a line for each of its fields.
pub fn tables(text: &str) -> String {
    let (top, rest) = parted(text);
    let (mut fields, mut tables) = (String::new(), String::new());
    for line in top.lines() {
        match line.strip_suffix(" }").and_then(|line| line.split_once(" = { ")) {
            Some((name, part)) => tables += &format!("\n[{name}]\n{}\n", lines_of(part)),
            None => fields += &format!("{line}\n"),
        }
    }
    fields + &tables + rest
}

/// The fields before the first table, and all that follows.
fn parted(text: &str) -> (&str, &str) {
    text.find("\n[").map_or((text, ""), |at| text.split_at(at + 1))
}

/// The fields of an inline table, each on a line of its own; commas within brackets stay.
fn lines_of(part: &str) -> String {
    let mut depth = 0;
    let mut lines = String::new();
    for letter in part.chars() {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ => {}
        }
        lines.push(if letter == ',' && depth == 0 { '\n' } else { letter });
    }
    lines.replace("\n ", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_replaced_or_added() {
        let text = with(PROFILES, &[("epoch_s", "60"), ("mode", "\"shuffled\"")]);
        let (top, labels) = text.split_once("[labels]\n").unwrap();
        assert!(top.contains("\nepoch_s = 60\n") && !top.contains("86400"), "{top}");
        assert!(top.ends_with("bound = \"exact\" }\nmode = \"shuffled\"\n"), "{top}");
        assert!(labels.starts_with("names = [") && labels.ends_with("one = [2] }\n"), "{labels}");
        assert_eq!(with(SURVEY, &[]), SURVEY);
        assert_eq!(with(PROFILES, &[]), PROFILES);
    }

    #[test]
    fn every_part_becomes_a_table_and_every_field_a_line() {
        let text = tables(SURVEY);
        assert!(
            text.starts_with(
                "\nversion = 1\nname = \"which-pixel\"\nquestion = \"Which pixel of the drawing do you hold?\"\n\
                 epoch_s = 86400\n\n[encoding]\nkind = \"one-hot\"\ndomain = 784\n\n[randomizer]\n"
            ),
            "{text}"
        );
        assert!(text.ends_with(
            "\n[claim]\nepsilon_central = 1.0\ndelta = 1e-6\nneighbors = \"removal\"\nbound = \"exact\"\n"
        ));
        assert!(
            tables(RECORD)
                .contains("attributes = [{ name = \"age\", values = 9 }, { name = \"sex\", values = 2 }, {")
        );
        assert!(tables(PROFILES).ends_with(PROFILES.split_once("[labels]").unwrap().1));
    }
}
