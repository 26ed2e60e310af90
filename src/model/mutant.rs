//! Rules of the protocol that a test can switch off, one at a time, to see that it would notice.
//!
//! Invariant: in a program none is ever switched off: [`on`] is `false` there, and compiles to nothing.

/// A rule that is broken on purpose. `docs/protocol.md` says what notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(PartialOrd, Ord, Hash))]
pub(crate) enum Mutant {
    /// Two runs give their claims of one attempt the same token.
    TokenIsShared,
    /// A request without an answer is taken as one that was never sent.
    TimeoutIsNotSent,
    /// A claim is sent whenever it lands, be its send window over or not.
    WindowIgnored,
    /// A claim that is ready is sent in spite of a stop.
    StopIgnored,
    /// Another run's claim is taken over before its quiet point.
    TakenOverEarly,
    /// A machine whose clock is far off takes over all the same.
    SkewIgnored,
    /// A machine whose clock is far off dates its lookups of another run's claim.
    MisdatedLookupCounts,
    /// A run does not tell its own claims from another's.
    OwnIsForeign,
    /// *Absent* counts before the quiet point.
    AbsentCountsEarly,
    /// One lookup that says *absent* is enough.
    OneAbsentIsEnough,
    /// Another account's lists are believed.
    OtherAccountBelieved,
    /// The quiet point leaves out the time that the service may still be working.
    QuarantineLeftOut,
    /// `at_most_once` sends again what is not there.
    SentMoreThanOnce,
    /// `gate = "confirm"` sends again without a person.
    ConfirmIgnored,
    /// There is no end to attempts.
    AttemptsNotCounted,
    /// A repeat gets a record key of its own.
    RecordKeyRenewed,
    /// What may have been sent is rendered anew.
    FrozenRenderedAnew,
    /// Another text goes out under the same key.
    KeyReused,
    /// What a repeat is answered is taken for the answer to what came before it.
    RepeatAnswersForAll,
    /// Nobody looks at what is there before a further attempt.
    NotListedAgain,
    /// A channel with too much in doubt is written to.
    BreakerOff,
    /// A pause that the service asked for is not kept.
    PauseIgnored,
    /// The gap between two posts is not kept.
    PaceIgnored,
    /// A claim that lost the race is told to the row of the winner.
    LostClaimKept,
    /// What was found out about a row is written over another one.
    RowOverwritten,
    /// An outcome whose push failed is written as `retry`.
    #[cfg(test)]
    FailedPushIsRetry,
    /// A receipt that comes after another run took over is dropped.
    LateReceiptDropped,
    /// What could not be pushed is not kept on disk.
    JournalNotWritten,
    /// What an earlier run kept on disk is not brought.
    JournalNotMerged,
    /// The store says that a push landed before it has begun.
    #[cfg(test)]
    SentBeforeThePush,
    /// The store says that a push without an answer landed.
    #[cfg(test)]
    UnknownIsLanded,
    /// The store pushes by force.
    #[cfg(test)]
    PushedByForce,
    /// The store pushes whatever is a fast-forward.
    #[cfg(test)]
    PushedPlainly,
    /// The store moves and compares no witness.
    #[cfg(test)]
    NoWitness,
    /// The connection repeats a request that was not answered.
    #[cfg(test)]
    RequestRepeated,
}

/// Whether this rule is broken now.
#[cfg(not(test))]
pub(crate) const fn on(_: Mutant) -> bool {
    false
}

#[cfg(test)]
pub(crate) use self::switch::{on, with};

#[cfg(test)]
mod switch {
    use std::cell::Cell;

    use super::Mutant;

    thread_local! {
        static BROKEN: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    pub(crate) fn on(mutant: Mutant) -> bool {
        BROKEN.get() == Some(mutant)
    }

    /// Does something with a rule broken on this thread.
    pub(crate) fn with<T>(mutant: Mutant, act: impl FnOnce() -> T) -> T {
        BROKEN.set(Some(mutant));
        let done = act();
        BROKEN.set(None);
        done
    }
}
