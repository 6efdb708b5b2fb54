//! What the product floor says when something is not done, and how an error gets its context.

use std::io;

use thiserror::Error;
use throng_account::Refusal;

use crate::send_error::SendError;

/// An error of the files, keys and network that every party runs on.
///
/// `{}` writes the outermost sentence, `{:#}` all of them, from the outside in: "cannot read a.toml: no such file". Ask
/// [`kind`](Self::kind) what can be done about it, whatever context was added.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A privacy or crowd rule said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What was asked for is wrong: the sentence says what to change.
    #[error("{0}")]
    Invalid(String),
    /// A file is not what was written there: the sentence says what to put back.
    #[error("{0}")]
    Damaged(String),
    /// The operating system could not do it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another party did not take or give something.
    #[error(transparent)]
    Network(#[from] SendError),
    /// An invalid survey.
    #[error(transparent)]
    Survey(#[from] throng_survey::Error),
    /// An invalid document, key or credential, or one whose signature does not hold.
    #[error(transparent)]
    Document(#[from] throng_wire::Error),
    /// An invalid guarantee.
    #[error(transparent)]
    Account(#[from] throng_account::Error),
    /// A text that is not the JSON that is expected.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A text that is not the TOML that is expected.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// TLS cannot be spoken with a key and certificate.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// No certificate could be made.
    #[cfg(feature = "server")]
    #[error(transparent)]
    Certificate(#[from] rcgen::Error),
    /// The operating system has no random numbers.
    #[error(transparent)]
    Entropy(#[from] getrandom::Error),
    /// An error, and what was being done.
    #[error(fmt = chain)]
    Context {
        /// What was being done, or what to do now.
        what: String,
        /// What the error is, where this is known only here: a document that does not hold is damage in a file of our own.
        kind: Option<ErrorKind>,
        /// What went wrong.
        source: Box<Error>,
    },
}

/// What can be done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nothing: a privacy or crowd rule said no.
    Refused,
    /// Change what was asked for.
    Invalid,
    /// Put back a copy of a file.
    Damaged,
    /// Look after the machine: its disk, permissions or memory.
    Io,
    /// Try again when another party can be reached, or ask its operator.
    Network,
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What was asked for is wrong.
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid(what.into())
    }

    /// A file is not what was written there.
    pub fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    /// The rule that said no, whatever context was added.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Context { source, .. } => source.refusal(),
            _ => None,
        }
    }

    /// What can be done about it. A refusal stays one under any context; otherwise the outermost kind that is known counts.
    pub fn kind(&self) -> ErrorKind {
        match self {
            _ if self.refusal().is_some() => ErrorKind::Refused,
            Self::Context { kind, source, .. } => kind.unwrap_or_else(|| source.kind()),
            Self::Damaged(_) => ErrorKind::Damaged,
            Self::Io(_) | Self::Entropy(_) => ErrorKind::Io,
            #[cfg(feature = "server")]
            Self::Certificate(_) => ErrorKind::Io,
            Self::Network(_) => ErrorKind::Network,
            _ => ErrorKind::Invalid,
        }
    }
}

/// Returns an [`Error`](crate::Error) of a variant that has a sentence: `bail!(Invalid, "give at least {least}")`.
#[macro_export]
macro_rules! bail {
    ($variant:ident, $($sentence:tt)+) => {
        return Err($crate::Error::$variant(format!($($sentence)+)).into())
    };
}

/// Returns an [`Error`](crate::Error) unless something holds: `ensure!(count > 0, Invalid, "give at least 1")`.
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $variant:ident, $($sentence:tt)+) => {
        if !$holds {
            $crate::bail!($variant, $($sentence)+)
        }
    };
}

/// Gives a crate's `Error`, which has a variant `Context` like [this crate's](crate::Error), the methods that add context to
/// results, as a trait `Context`, and the function `chain` that writes it.
#[macro_export]
macro_rules! error_context {
    ($error:ident) => {
        /// Adds to an error what was being done.
        pub(crate) trait Context<T> {
            /// A sentence before the error's own.
            fn context(self, what: impl Into<String>) -> Result<T, $error>;
            /// The same, made only where it is needed.
            fn with_context(self, what: impl FnOnce() -> String) -> Result<T, $error>;
            /// The same, where whatever is wrong means that a file is damaged.
            #[allow(dead_code)] // Without its servers a crate may have no files of its own.
            fn damaged(self, what: impl FnOnce() -> String) -> Result<T, $error>;
        }

        impl<T, E: Into<$error>> Context<T> for std::result::Result<T, E> {
            fn context(self, what: impl Into<String>) -> Result<T, $error> {
                self.with_context(|| what.into())
            }

            fn with_context(self, what: impl FnOnce() -> String) -> Result<T, $error> {
                self.map_err(|error| $error::Context {
                    what: what(),
                    kind: None,
                    source: Box::new(error.into()),
                })
            }

            fn damaged(self, what: impl FnOnce() -> String) -> Result<T, $error> {
                self.map_err(|error| $error::Context {
                    what: what(),
                    kind: Some($crate::ErrorKind::Damaged),
                    source: Box::new(error.into()),
                })
            }
        }

        fn chain(
            what: &str,
            _: &Option<$crate::ErrorKind>,
            source: &$error,
            f: &mut std::fmt::Formatter<'_>,
        ) -> std::fmt::Result {
            f.write_str(what)?;
            if f.alternate() { write!(f, ": {source:#}") } else { Ok(()) }
        }
    };
}

/// Lets a crate's `Error`, which has a variant `Host`, take up errors that [this crate's](crate::Error) can, and gives it the
/// constructors of what is wrong or damaged.
#[macro_export]
macro_rules! error_through_host {
    ($error:ident: $($from:ty),+ $(,)?) => {
        impl $error {
            /// What was asked for is wrong.
            pub(crate) fn invalid(what: impl Into<String>) -> Self {
                Self::Host($crate::Error::invalid(what))
            }

            /// A file is not what was written there.
            pub(crate) fn damaged(what: impl Into<String>) -> Self {
                Self::Host($crate::Error::damaged(what))
            }
        }

        $(
            impl From<$from> for $error {
                fn from(error: $from) -> Self {
                    Self::Host(error.into())
                }
            }
        )+
    };
}

error_context!(Error);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_its_outermost_sentence_or_all_of_them() {
        let io = || Err::<(), _>(io::Error::other("the disk is full"));
        let error =
            io().context("cannot write a").with_context(|| "nothing is published".into()).unwrap_err();
        assert_eq!(error.to_string(), "nothing is published");
        assert_eq!(format!("{error:#}"), "nothing is published: cannot write a: the disk is full");
        let mut causes =
            std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        assert!(causes.by_ref().map(ToString::to_string).eq([
            "nothing is published",
            "cannot write a",
            "the disk is full"
        ]));
    }

    #[test]
    fn a_refusal_is_one_under_any_context_and_other_errors_are_what_the_outermost_says() {
        let refused = || Err::<(), _>(Refusal("90 respondents".into()));
        let refusal = Error::from(Refusal("90 respondents".into()));
        assert_eq!(refusal.kind(), ErrorKind::Refused);
        let error = refused().damaged(|| "a".into()).context("b").unwrap_err();
        assert_eq!(
            (error.kind(), error.refusal().unwrap().0.as_str()),
            (ErrorKind::Refused, "90 respondents")
        );

        let io = || Err::<(), _>(io::Error::other("the disk is full"));
        assert_eq!(io().context("a").unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(io().damaged(|| "a".into()).context("b").unwrap_err().kind(), ErrorKind::Damaged);
        assert_eq!(Error::from(SendError::Refused("no".into())).kind(), ErrorKind::Network);
        assert_eq!(Error::damaged("no").kind(), ErrorKind::Damaged);
        assert_eq!(Error::invalid("no").kind(), ErrorKind::Invalid);
        assert!(io().context("a").unwrap_err().refusal().is_none());
    }

    #[test]
    fn sentences_are_returned_unless_something_holds() {
        let positive = |count: i64| -> Result<i64> {
            ensure!(count > 0, Invalid, "give at least 1, not {count}");
            if count > 9 {
                bail!(Damaged, "{count} were never written");
            }
            Ok(count)
        };
        assert_eq!(positive(1).unwrap(), 1);
        assert_eq!(positive(0).unwrap_err().to_string(), "give at least 1, not 0");
        assert_eq!(positive(10).unwrap_err().kind(), ErrorKind::Damaged);
    }
}
