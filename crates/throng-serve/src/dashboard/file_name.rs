//! What files are called that somebody keeps: names that say what is inside, and are names on every system.

use throng_wire::SignedSurvey;

/// A file of a release: survey, label if it has labels, epoch, and what it is. The beginning of the survey's hash tells apart
/// surveys of one name, and the number of a label those whose letters no file name has.
pub(super) fn of_release(signed: &SignedSurvey, label: u32, epoch: u64, file: &str) -> String {
    let labels = signed.survey().labels.as_ref();
    let named = labels.and_then(|labels| labels.names.get((label as usize).checked_sub(1)?));
    let survey = joined(&[&plain(&signed.survey().name), &format!("{:.8}", signed.hash().to_string())]);
    format!("{survey}{}-epoch-{epoch}-{file}", named.map_or_else(String::new, |name| of_label(label, name)))
}

/// The part of a name that says which label.
fn of_label(number: u32, name: &str) -> String {
    format!("-label-{}", joined(&[&number.to_string(), &plain(name)]))
}

/// The file of a survey that is planned.
pub(super) fn of_draft(name: &str) -> String {
    match plain(name).as_str() {
        "survey" => "survey.toml".into(),
        name => joined(&["survey", name]) + ".toml",
    }
}

/// ASCII letters and digits; whatever is between them is one hyphen.
fn plain(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut plain = words.collect::<Vec<_>>().join("-");
    plain.truncate(LEN_MAX);
    plain.trim_end_matches('-').to_owned()
}

/// Those parts that there are.
fn joined(parts: &[&str]) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Of one part; the whole stays far below the 255 bytes that a name may have.
const LEN_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_survey_is_called_its_file_has_a_name() {
        for (name, file) in [
            ("survey", "survey.toml"),
            ("Lunch, today?", "survey-Lunch-today.toml"),
            ("../../etc/passwd", "survey-etc-passwd.toml"),
            ("a\"; filename=b\r\nX: y", "survey-a-filename-b-X-y.toml"),
            ("CON", "survey-CON.toml"),
            ("調査", "survey.toml"),
            ("", "survey.toml"),
            ("-- --", "survey.toml"),
        ] {
            assert_eq!(of_draft(name), file, "{name}");
        }
        let long = of_draft(&format!("{} {}", "a".repeat(LEN_MAX - 1), "b".repeat(300)));
        assert_eq!(long, format!("survey-{}.toml", "a".repeat(LEN_MAX - 1)));
    }

    #[test]
    fn labels_of_which_no_letter_is_left_have_names_of_their_own() {
        let names =
            [(1, "de"), (2, "日本"), (3, "中国"), (4, "a/../b")].map(|(number, name)| of_label(number, name));
        assert_eq!(names, ["-label-1-de", "-label-2", "-label-3", "-label-4-a-b"]);
    }
}
