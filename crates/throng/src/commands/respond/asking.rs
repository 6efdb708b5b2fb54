//! What a person is asked on the terminal: their own limit, once, and their answer.

use std::io::{BufRead, IsTerminal, Write, stderr, stdin};

use anyhow::{Context, Result, ensure};
use throng_dp::{Epsilon, Value};
use throng_wire::Survey;
use throng_wire::survey::{AnswerChanges, Attribute, Encoding};
use zeroize::Zeroizing;

use super::{VALUE_LEN_MAX, parse};
use throng_account::rounding::at_most;

/// Whether there is somebody to ask: who reads standard error, and types into standard input.
pub(super) fn somebody() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Asks for the limit of all answers to all surveys.
pub(super) fn limit(survey: &Survey) -> Result<Epsilon> {
    limit_from(survey, &mut stdin().lock(), &mut stderr().lock())
}

/// Asks for the answer, after it was said what it costs.
pub(super) fn value(survey: &Survey, costs: Option<&str>) -> Result<Value> {
    value_from(survey, costs, &mut stdin().lock(), &mut stderr().lock())
}

/// What the first answer to a survey spends, and what later ones do.
pub(super) fn spends(survey: &Survey) -> Result<String> {
    let each = match survey.answer_changes() {
        None => "each time that you answer",
        Some(AnswerChanges::Allowed) => "for as long as your answer stays the same, and more if it changes",
        Some(AnswerChanges::Never) => "once, for all that you ever send",
    };
    let floor = throng_survey::floor(survey)?.epsilon().value();
    Ok(format!("This survey spends epsilon {:.4} {each}.", at_most(floor)))
}

fn limit_from(survey: &Survey, input: &mut impl BufRead, output: &mut impl Write) -> Result<Epsilon> {
    writeln!(
        output,
        "Before your first answer: how much may all your answers, to all surveys, say about you together?\n\
         \n\
         This is counted in epsilon, and added up on this machine, over all surveys and for ever. It is what your answers\n\
         could give away if everybody else failed, or worked together against you: whoever saw all that you sent could\n\
         change their odds about you by a factor of e^epsilon at most. Epsilon 1 is a factor of 2.8, epsilon 3 of 21, 6\n\
         of 404, 10 of 22,027. Smaller is more private; with 0 nothing is ever sent. While the others keep to the rules,\n\
         what is published says far less than that.\n\
         \n\
         {} What would exceed your limit is refused. The limit is kept beside\n\
         your answers; throng respond --epsilon-limit E changes it.\n",
        spends(survey)?
    )?;
    again(input, output, "Your limit, an epsilon: ", |line| {
        let limit = line.parse().ok().and_then(|limit: f64| Epsilon::new(limit).ok());
        limit.filter(|limit| limit.value().is_finite()).context("Write a number from 0 on, such as 10.")
    })
}

fn value_from(
    survey: &Survey,
    costs: Option<&str>,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<Value> {
    writeln!(output, "{}: {}", survey.name, survey.question)?;
    for (number, name) in survey.value_names().into_iter().flatten().enumerate() {
        writeln!(output, "  {number}  {name}")?;
    }
    if let Some(costs) = costs {
        writeln!(output, "{costs}")?;
    }
    let prompt = match &survey.encoding {
        Encoding::OneHot { domain } | Encoding::Sketch { domain, .. } => {
            let called = if survey.value_names().is_some() { "a name, or " } else { "" };
            format!("{called}a number from 0 to {}", domain.saturating_sub(1))
        }
        Encoding::Record { attributes } => {
            let one = |one: &Attribute| match &one.names {
                None => format!("{} (0 to {})", one.name, one.values.saturating_sub(1)),
                Some(names) => {
                    let all: Vec<String> =
                        names.iter().enumerate().map(|(number, name)| format!("{number} {name}")).collect();
                    format!("{} ({})", one.name, all.join(", "))
                }
            };
            let each: Vec<String> = attributes.iter().map(one).collect();
            let names = attributes.iter().any(|one| one.names.is_some());
            format!(
                "{} for each of {}, with commas between them, - where there is nothing to say",
                if names { "a name or a number" } else { "a number" },
                each.join(", ")
            )
        }
    };
    writeln!(
        output,
        "It stays in this process. If there is nothing to say, stop with Ctrl-C and use --absent."
    )?;
    again(input, output, &format!("Your answer, {prompt}: "), |line| {
        parse(line, &survey.encoding, survey.value_names())
    })
}

/// Asks until there is an answer. What was typed is never repeated.
fn again<T>(
    input: &mut impl BufRead,
    output: &mut impl Write,
    prompt: &str,
    read: impl Fn(&str) -> Result<T>,
) -> Result<T> {
    loop {
        write!(output, "{prompt}")?;
        output.flush()?;
        // As large as it may become, so that no copies are left behind while it grows.
        let mut line = Zeroizing::new(String::with_capacity(VALUE_LEN_MAX + 1));
        let length = std::io::Read::take(&mut *input, VALUE_LEN_MAX as u64).read_line(&mut line)?;
        ensure!(length > 0, "there was no answer on the terminal");
        match read(line.trim()) {
            Ok(read) => return Ok(read),
            Err(error) => writeln!(output, "{error}")?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_testing::survey::{SURVEY, with};

    fn survey(encoding: &str) -> Survey {
        let fields = [
            ("name", r#""lunch""#),
            ("question", r#""Which dish?""#),
            ("encoding", encoding),
            ("crowd", r#"{ respondents_min = 3000, enrolment = "open" }"#),
            ("delivery", r#"{ instances = 3, hops = 2, envelopes = 24, cover = "chaff" }"#),
        ];
        Survey::from_toml(&with(SURVEY, &fields)).unwrap()
    }

    /// What a limit means is said before it is asked for, with what this survey spends; there is no default.
    #[test]
    fn a_limit_is_asked_for_until_there_is_one() {
        let one_hot = survey("{ kind = \"one-hot\", domain = 8 }");
        let mut said = Vec::new();
        let typed = "\n-3\nmany\nNaN\ninf\n 12.5 \n99\n";
        let limit = limit_from(&one_hot, &mut typed.as_bytes(), &mut said).unwrap();
        assert_eq!(limit.value(), 12.5);
        let said = String::from_utf8(said).unwrap();
        for part in [
            "to all surveys",
            "added up",
            "5.2500 each time",
            "worked together against you",
            "--epsilon-limit",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_eq!(said.matches("Your limit").count(), 6, "{said}");
        assert!(limit_from(&one_hot, &mut &b"\n"[..], &mut Vec::new()).is_err(), "no answer is no limit");
    }

    /// A report spends again each time; a backstop for as long as the answer stays, or once where the first report counts.
    #[test]
    fn what_a_survey_spends_is_said_for_the_answers_that_it_allows() {
        let mut survey = survey("{ kind = \"one-hot\", domain = 8 }");
        assert_eq!(spends(&survey).unwrap(), "This survey spends epsilon 5.2500 each time that you answer.");
        for (changes, each) in [
            (None, "for as long as your answer stays the same, and more if it changes"),
            (
                Some(AnswerChanges::Allowed),
                "for as long as your answer stays the same, and more if it changes",
            ),
            (Some(AnswerChanges::Never), "once, for all that you ever send"),
        ] {
            survey.randomizer = throng_wire::survey::Randomizer::ReportFragments {
                epsilon_backstop: 5.25,
                epsilon_fragment: 4.0,
                fragments: 4,
                answer_changes: changes,
            };
            assert_eq!(spends(&survey).unwrap(), format!("This survey spends epsilon 5.2500 {each}."));
        }
    }

    #[test]
    fn an_answer_is_asked_for_in_the_words_of_the_survey_and_not_repeated() {
        let mut said = Vec::new();
        let one_hot = survey("{ kind = \"one-hot\", domain = 8 }");
        let value = value_from(&one_hot, Some("It costs."), &mut &b"x7777\n5\n"[..], &mut said).unwrap();
        assert_eq!(value.one(), Ok(5));
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.contains("Which dish?") && said.contains("from 0 to 7") && !said.contains("7777"),
            "{said}"
        );
        assert!(said.split("Your answer").next().unwrap().contains("It costs."), "{said}");
        let record = survey(
            "{ kind = \"record\", attributes = [{ name = \"age\", values = 9 }, { name = \"sex\", values = 2 }] }",
        );
        let mut said = Vec::new();
        let value = value_from(&record, None, &mut &b"3,-\n"[..], &mut said).unwrap();
        assert_eq!(value.record(), Ok(&[Some(3), None][..]));
        assert!(String::from_utf8(said).unwrap().contains("age (0 to 8), sex (0 to 1)"));
        assert!(value_from(&one_hot, None, &mut &b""[..], &mut Vec::new()).is_err());
    }
}
