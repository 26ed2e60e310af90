//! Exit codes: one table, one mapping.

use std::process::ExitCode;

/// How a command ended. The first that applies, in this order, is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// Everything due is proved.
    Proved,
    /// A fault of this program.
    Internal,
    /// The command line or the configuration is wrong, or a secret is missing.
    Usage,
    /// The ledger can't be read, was rewound, or can't be made durable.
    Ledger,
    /// A service refused something for good.
    Refused,
    /// Something needs a person.
    NeedsPerson,
    /// Work remains for a later run.
    WorkRemains,
}

impl Exit {
    /// Returns the number, as documented.
    pub const fn code(self) -> u8 {
        match self {
            Self::Proved => 0,
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Ledger => 3,
            Self::Refused => 4,
            Self::NeedsPerson => 5,
            Self::WorkRemains => 6,
        }
    }

    /// Returns the more urgent of two.
    #[must_use]
    pub fn or_worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Proved, other) | (other, Self::Proved) => other,
            (one, other) => one.min(other),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
