//! How code values with names are written down: a newtype that holds every value, one row for each that the
//! specification names.

/// Defines a code: `name: integer width { CONSTANT = value, "name in lines"; … }`.
macro_rules! codes {
    (
        $(#[$outer:meta])*
        $code:ident($integer:ty), $format:literal {
            $( $(#[$inner:meta])* $constant:ident = $value:literal, $name:literal; )*
        }
    ) => {
        $(#[$outer])*
        ///
        /// Displayed by its name, or as a number if it has none.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $code(pub $integer);

        impl $code {
            $( $(#[$inner])* pub const $constant: $code = $code($value); )*

            /// All values that have a name, in order.
            pub const NAMED: &'static [($code, &'static str)] = &[$( ($code($value), $name), )*];

            /// The name of the value, lower case with underscores unless the specification has it otherwise.
            pub fn name(self) -> Option<&'static str> {
                Self::NAMED.iter().find(|(code, _)| *code == self).map(|(_, name)| *name)
            }
        }

        impl core::fmt::Display for $code {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, $format, self.0),
                }
            }
        }

        impl core::fmt::Debug for $code {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($code), "({})"), self)
            }
        }
    };
}

pub(super) use codes;
