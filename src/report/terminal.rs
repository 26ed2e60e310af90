//! Standard output and standard error. The only file that prints.

use std::io::{IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use chrono_tz::Tz;
use indicatif::{ProgressBar, ProgressStyle};

use crate::model::notice::Notice;

use super::notices::{Tone, line};

/// How often a live line moves.
const LIVE_TICK: std::time::Duration = std::time::Duration::from_millis(120);

/// Where results and notices go.
#[derive(Debug)]
pub struct Terminal {
    timezone: Tz,
    is_live: bool,
    live: Option<ProgressBar>,
}

impl Terminal {
    /// Prints times in `timezone`. A live line is shown where standard error is a terminal.
    pub fn new(timezone: Tz) -> Self {
        Self {
            timezone,
            is_live: std::io::stderr().is_terminal(),
            live: None,
        }
    }

    /// Prints times in another timezone from now on.
    pub fn set_timezone(&mut self, timezone: Tz) {
        self.timezone = timezone;
    }

    /// Tells a notice on standard error.
    pub fn tell(&mut self, notice: &Notice) {
        let (tone, text) = line(notice, self.timezone);
        self.clear();
        if self.is_live && matches!(notice, Notice::Waiting { .. }) {
            let bar = ProgressBar::new_spinner().with_message(text);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(LIVE_TICK);
            self.live = Some(bar);
            return;
        }
        let style = match tone {
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Plain => Style::new(),
            Tone::Warning => AnsiColor::Yellow.on_default(),
        };
        self.error_line(&format!("{style}{text}{style:#}"));
    }

    /// Writes a line to standard error.
    pub fn error_line(&mut self, text: &str) {
        self.clear();
        // Nobody listens on a closed pipe; the work goes on.
        drop(writeln!(anstream::stderr(), "{text}"));
    }

    /// Writes the result to standard output.
    pub fn result(&mut self, text: &str) {
        self.clear();
        let mut stdout = anstream::stdout();
        drop(
            stdout
                .write_all(text.as_bytes())
                .and_then(|()| stdout.flush()),
        );
    }

    fn clear(&mut self) {
        if let Some(bar) = self.live.take() {
            bar.finish_and_clear();
        }
    }
}
