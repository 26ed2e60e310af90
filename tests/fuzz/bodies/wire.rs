//! A service that is played byte by byte: connections that read from memory.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use sayonce::channel::http::Wire;
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

/// As the last byte of an answer: the connection is not closed but reset.
pub(super) const RESET: u8 = 1;

/// What each connection gives back, in order; after the last one no connection is made.
pub(super) fn play(answers: impl IntoIterator<Item = Vec<u8>>) -> Wire<Player, Nowhere> {
    let mut answers: Vec<Vec<u8>> = answers.into_iter().collect();
    answers.reverse();
    Wire {
        connector: Player {
            answers: Arc::new(Mutex::new(answers)),
        },
        resolver: Nowhere,
    }
}

#[derive(Debug)]
pub(super) struct Player {
    answers: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Connector for Player {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _chained: Option<()>,
    ) -> Result<Option<Self::Out>, Error> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.pop().ok_or(Error::ConnectionFailed)?;
        Ok(Some(Box::new(Connection {
            buffers: LazyBuffers::new(
                details.config.input_buffer_size(),
                details.config.output_buffer_size(),
            ),
            answer,
            read: 0,
        })))
    }
}

#[derive(Debug)]
struct Connection {
    buffers: LazyBuffers,
    answer: Vec<u8>,
    read: usize,
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, _amount: usize, _timeout: NextTimeout) -> Result<(), Error> {
        Ok(())
    }

    fn await_input(&mut self, _timeout: NextTimeout) -> Result<bool, Error> {
        let rest = self.answer.get(self.read..).unwrap_or_default();
        match rest {
            [] => return Ok(false),
            [RESET] => return Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
            _ => {}
        }
        let space = self.buffers.input_append_buf();
        let length = rest.len().min(space.len());
        for (place, byte) in space.iter_mut().zip(rest) {
            *place = *byte;
        }
        self.buffers.input_appended(length);
        self.read += length;
        Ok(length > 0)
    }

    fn is_open(&mut self) -> bool {
        false
    }
}

/// Finds an address without asking anybody.
#[derive(Debug)]
pub(super) struct Nowhere;

impl Resolver for Nowhere {
    fn resolve(
        &self,
        _uri: &Uri,
        _config: &Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let mut addresses = self.empty();
        addresses.push(SocketAddr::from(([127, 0, 0, 1], 9)));
        Ok(addresses)
    }
}
