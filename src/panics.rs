//! Panics of libraries that are caught: they become errors of ours, and what they say is not shown.
//!
//! Invariant: only the first panic inside `catch` is silent, and only on the thread that catches it. Every other
//! panic is told as it would be without this file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static WATCH: Cell<Watch> = const { Cell::new(Watch::Off) };
}

/// What is done with the next panic of this thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    /// It is told.
    Off,
    /// It is about to be caught, so it is silent.
    Catching,
    /// One was silent already: a second one, such as in a destructor, ends the process, and must be told.
    Caught,
}

/// The library panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Makes caught panics silent. The program's `main` calls it once; later calls do nothing.
pub fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let tell = take_hook();
        set_hook(Box::new(move |panic| {
            if WATCH.get() == Watch::Catching {
                WATCH.set(Watch::Caught);
            } else {
                tell(panic);
            }
        }));
    });
}

/// Runs what may panic on bad input. It must leave nothing half-done that is used afterwards.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    let before = WATCH.replace(Watch::Catching);
    let done = catch_unwind(AssertUnwindSafe(work));
    WATCH.set(before);
    done.map_err(|_told_by_the_caller| Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_value_and_the_next_one_is_told() {
        install();
        assert_eq!(catch(|| 7), Ok(7));
        let seen = catch(|| -> Watch { panic!("a library's bad day") });
        assert_eq!(seen, Err(Panicked));
        assert_eq!(WATCH.get(), Watch::Off);
        // Inside, one catch may stand in another.
        let inner = catch(|| {
            let first = catch(|| -> u8 { panic!("inside") });
            (first, WATCH.get())
        });
        assert_eq!(inner, Ok((Err(Panicked), Watch::Catching)));
    }

    #[test]
    fn only_the_first_panic_of_a_catch_is_silent() {
        install();
        let after = catch(|| {
            let caught = catch_unwind(|| -> u8 { panic!("caught by the library itself") });
            assert!(caught.is_err());
            WATCH.get()
        });
        assert_eq!(after, Ok(Watch::Caught));
    }
}
