//! SIGINT and SIGTERM: the first asks the run to stop, the second ends the process.

use crate::engine::driver::Stopper;

/// Lets signals stop the run behind `stopper`. Correctness never depends on it: a run that is killed is continued.
#[cfg(unix)]
pub fn stop_on_signals(stopper: Stopper) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    drop(std::thread::spawn(move || {
        let mut asked = false;
        for signal in signals.forever() {
            if asked {
                drop(signal_hook::low_level::emulate_default_handler(signal));
            }
            asked = true;
            stopper.stop();
        }
    }));
    Ok(())
}

/// Elsewhere the system ends the process; the ledger covers that.
#[cfg(not(unix))]
pub fn stop_on_signals(_stopper: Stopper) -> std::io::Result<()> {
    Ok(())
}
