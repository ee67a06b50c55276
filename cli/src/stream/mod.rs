// SPDX-License-Identifier: GPL-3.0-or-later
//! Streaming to a Netdata parent, without an agent here: connect, be accepted, send what a plugin sends, come back.

mod guid;
mod request;
mod resolve;

use crate::args::Options;
use crate::lifeline::Lifeline;
use crate::output::Output;
use crate::plugin::{Ending, Run};
use crate::sink::Sink;
use kmote_bpf::sys::{self, Watch};
pub use request::is_uuid;
use request::{Answer, Child};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long a parent may take to accept a connection, and to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait after a connection was lost; doubled with each attempt that fails, up to `LONGEST`.
const SHORTEST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(60);

/// The parent, and who we are to it.
#[derive(Debug)]
pub struct Parent {
    /// `HOST:PORT`.
    to: String,
    request: String,
}

/// Why there is no connection, and how long to wait before the next attempt.
struct Failure {
    words: String,
    delay: Duration,
}

impl Parent {
    /// The parent that the arguments name.
    pub fn new(options: &Options, release: &str, update_every: u32) -> io::Result<Self> {
        let (guid, fault) = guid::of_this_node(&options.directories.state, &options.prefix)?;
        if let Some(fault) = fault {
            let folder = options.directories.state.display();
            eprintln!(
                "kmote: the GUID of this node cannot be kept in {folder} ({fault}): the parent will see a new node after the next start"
            );
        }
        let name = || fs::read_to_string(options.prefix.join("proc/sys/kernel/hostname")).unwrap_or_default();
        let hostname = options.hostname.clone().unwrap_or_else(name);
        let key = options.key.as_deref().unwrap_or_default();
        let child = Child { key, hostname: hostname.trim(), guid: &guid, update_every, release };
        Ok(Self { to: options.to.clone().unwrap_or_default(), request: child.request() })
    }

    /// Connects and asks; the connection of a parent that says yes.
    fn ask(&self, lifeline: &mut Lifeline) -> Result<TcpStream, Failure> {
        let mut last = Failure::soon("it has no address");
        let found = resolve::addresses(&self.to, lifeline);
        for address in found.map_err(|error| Failure::soon(&error.to_string()))? {
            match connect(address, lifeline).map_err(|error| Failure::soon(&error.to_string())) {
                Ok(stream) => return self.handshake(stream, lifeline),
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }

    fn handshake(&self, stream: TcpStream, lifeline: &mut Lifeline) -> Result<TcpStream, Failure> {
        let failed = |error: io::Error| Failure::soon(&error.to_string());
        let mut output = Output::peer(stream.try_clone().map_err(failed)?);
        output.send(&self.request, |socket| lifeline.until_room(socket)).map_err(failed)?;
        match answer(&stream, lifeline).map_err(failed)? {
            Answer::Go => Ok(stream),
            refusal => Err(Failure { words: refusal.words().to_owned(), delay: refusal.delay() }),
        }
    }
}

impl Failure {
    /// One that may be over soon.
    fn soon(words: &str) -> Self {
        Self { words: words.to_owned(), delay: Duration::ZERO }
    }
}

fn connect(address: SocketAddr, lifeline: &mut Lifeline) -> io::Result<TcpStream> {
    let stream = TcpStream::from(sys::connect(address).map_err(io::Error::from_raw_os_error)?);
    let watch = lifeline.until(Watch::room(&stream), PATIENCE)?;
    match stream.take_error()? {
        Some(error) => Err(error),
        None if watch.is_some_and(|watch| watch.writable()) => Ok(stream),
        None => Err(ErrorKind::TimedOut.into()),
    }
}

/// The parent's answer, which has no end of its own: as much as is needed to know it.
fn answer(mut stream: &TcpStream, lifeline: &mut Lifeline) -> io::Result<Answer> {
    let (mut said, mut length, end) = ([0; 1024], 0, Instant::now() + PATIENCE);
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|_| length < said.len()) {
        if lifeline.until(Watch::input(&stream), left)?.is_none() {
            break;
        }
        match stream.read(said.get_mut(length..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if let Some(answer) = Answer::of(&String::from_utf8_lossy(said.get(..length).unwrap_or_default())) {
            return Ok(answer);
        }
    }
    Ok(Answer::NotUnderstood)
}

/// Streams until told to stop. While the parent is away nothing is kept for it: the counters go on in the kernel, and
/// the first read after its return covers the gap.
pub(crate) fn run(run: &mut Run<'_>, sink: &mut Sink, parent: &Parent) -> io::Result<Ending> {
    let (mut said, mut delay) = (String::new(), SHORTEST);
    while !run.lifeline.is_over() {
        let failure = match parent.ask(&mut run.lifeline) {
            Ok(stream) => {
                eprintln!("kmote: streaming to {}", parent.to);
                (said, delay) = (String::new(), SHORTEST);
                run.begin_anew(Output::peer(stream));
                match run.collect(sink) {
                    Ok(ending) if run.ticks.is_some() => return Ok(ending),
                    Ok(_) => Failure::soon("the parent closed the connection"),
                    Err(error) => Failure::soon(&error.to_string()),
                }
            }
            Err(failure) => failure,
        };
        if run.lifeline.is_over() {
            break;
        }
        if said != failure.words {
            eprintln!("kmote: not streaming to {}: {}", parent.to, failure.words);
            said = failure.words;
        }
        run.lifeline.sleep(failure.delay.max(delay))?;
        delay = (delay * 2).min(LONGEST);
    }
    Ok(Ending::Asked)
}
