//! What follows the question mark of a request: names and values, each known, each once.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use axum::http::StatusCode;

use throng_host::net::Problem;

/// The parameters of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    /// Reads the text after the question mark. A name that is not among these is refused, so that a misspelt one is not
    /// ignored.
    pub(super) fn read(text: Option<&str>, names: &[&str]) -> Result<Self, Problem> {
        let mut all = BTreeMap::new();
        for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name).ok_or_else(|| bad("a name is not encoded as UTF-8"))?;
            let value = decoded(value).ok_or_else(|| bad("a value is not encoded as UTF-8"))?;
            if !names.contains(&name.as_str()) {
                return Err(bad(format!("this path has the parameters {}", names.join(", "))));
            }
            if all.insert(name.clone(), value).is_some() {
                return Err(bad(format!("give {name} once")));
            }
        }
        Ok(Self(all))
    }

    /// The text of a parameter; empty ones count as not given.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// A number, if it is given.
    pub(super) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        let read = |text: &str| text.parse().map_err(|_| bad(format!("{name} is not such a number")));
        self.text(name).map(read).transpose()
    }

    /// A number from `least` to `most`, if it is given.
    pub(super) fn within<T: FromStr + PartialOrd + Display + Copy>(
        &self,
        name: &str,
        least: T,
        most: T,
    ) -> Result<Option<T>, Problem> {
        // What is no number of this kind is outside as well.
        let outside = || bad(format!("{name} is a number from {least} to {most}"));
        match self.text(name).map(str::parse) {
            None => Ok(None),
            Some(Ok(number)) if least <= number && number <= most => Ok(Some(number)),
            Some(_) => Err(outside()),
        }
    }

    /// A text of at most so many letters.
    pub(super) fn short(&self, name: &str, most: usize) -> Result<Option<&str>, Problem> {
        match self.text(name) {
            Some(text) if text.chars().count() > most => {
                Err(bad(format!("{name} has at most {most} letters")))
            }
            text => Ok(text),
        }
    }

    /// A number that has to be given.
    pub(super) fn need<T: FromStr>(&self, name: &str) -> Result<T, Problem> {
        self.number(name)?.ok_or_else(|| bad(format!("give {name}")))
    }
}

/// 400, with what to change.
pub(super) fn bad(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "parameter", detail)
}

/// Undoes percent-encoding, and `+` for a space.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                (digit(rest.next())? * 16 + digit(rest.next())?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_and_others_refused() {
        let read = |text| Query::read(Some(text), &["n", "name"]);
        let query = read("name=a%26b+c%C3%A9&n=1e-6").unwrap();
        assert_eq!(query.text("name"), Some("a&b cé"));
        assert_eq!((query.number("n"), query.need::<f64>("n")), (Ok(Some(1e-6)), Ok(1e-6)));
        assert_eq!(query.number::<u64>("n").unwrap_err().status, StatusCode::BAD_REQUEST);
        assert_eq!(read("n=").unwrap().number::<u64>("n"), Ok(None));
        assert_eq!(query.within("n", 1e-6, 1.0), Ok(Some(1e-6)));
        assert_eq!(query.within("n", 1e-7, 1e-6), Ok(Some(1e-6)));
        for (least, most) in [(1e-5, 1.0), (0.0, 1e-7)] {
            let problem = query.within("n", least, most).unwrap_err();
            assert!(
                problem.status == 400 && problem.detail == format!("n is a number from {least} to {most}")
            );
        }
        assert!(query.within("n", 0, 9).is_err() && read("n=NaN").unwrap().within("n", 0.0, 1.0).is_err());
        assert_eq!(query.within("other", 0, 9), Ok(None));
        assert!(query.short("name", 6) == Ok(Some("a&b cé")) && query.short("name", 5).is_err());
        assert!(Query::read(None, &[]).unwrap().need::<u64>("n").unwrap_err().detail.contains("give n"));
        for wrong in ["m=1", "n=1&n=2", "n=%G1", "n=%4", "name=%ff"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
