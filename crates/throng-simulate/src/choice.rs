//! Choices: a few things, each with the name that a person types and a line of help.

/// One of a few, by its name. Made by [`choices!`](crate::choices).
pub trait Choice: Copy + Sized + 'static {
    /// All there are.
    const ALL: &'static [Self];

    /// What it is called.
    fn name(self) -> &'static str;

    /// What it is, in a line.
    fn help(self) -> &'static str;

    /// The one of this name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.name() == name)
    }
}

/// Makes an enum whose variants have names for people: their documentation is the line of help.
#[macro_export]
macro_rules! choices {
    ($(#[$meta:meta])* pub enum $choice:ident { $(#[doc = $help:literal] $(#[$extra:meta])* $variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$meta])*
        pub enum $choice { $(#[doc = $help] $(#[$extra])* $variant),+ }

        impl $choice {
            /// All there are.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// What it is called.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl $crate::Choice for $choice {
            const ALL: &'static [Self] = Self::ALL;

            fn name(self) -> &'static str {
                self.name()
            }

            fn help(self) -> &'static str {
                match self { $(Self::$variant => $help.trim_ascii()),+ }
            }
        }
    };
}
