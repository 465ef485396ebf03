//! Profiles in memory: each is read and preprocessed once for all requests and tools, and again
//! when its file has changed.

use super::ToolError;
use crate::hlo::{Program, Programs};
use crate::opstats::inference::{self, HostInference, InferenceStats};
use crate::opstats::{OpStats, Parts};
use crate::session::{Fingerprint, HostFile, ProfileFormat, Session};
use crate::store::{self, Bytes, Cache, Cached};
use crate::timeline::Timeline;
use crate::trace::TraceIndex;
use crate::wire::riegeli;
use crate::xplane::{self, ParseError, Space, Wanted};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The part of the memory limit that profiles may take.
const SHARE_OF_MEMORY: usize = 4;

/// How often a file that changes while it is read is read again.
const ATTEMPTS: usize = 3;

/// Why a profile cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileError {
    /// Run and file name.
    pub file: String,
    /// What is wrong.
    pub cause: ProfileCause,
}

/// What is wrong with a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileCause {
    /// The file cannot be read: the system's words.
    Unreadable(String),
    /// The bytes are no `XSpace`.
    Malformed(ParseError),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file)?;
        match &self.cause {
            ProfileCause::Unreadable(cause) => f.write_str(cause),
            ProfileCause::Malformed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ProfileError {}

impl From<ProfileError> for ToolError {
    fn from(error: ProfileError) -> Self {
        Self::NoData(error.to_string())
    }
}

/// A profile as the file has it, shared with the cache.
#[derive(Debug, Clone)]
pub enum Profile {
    /// Read, not preprocessed.
    Plain(Arc<Space>),
    /// Preprocessed already.
    Built(Arc<Timeline>),
}

impl Deref for Profile {
    type Target = Space;

    fn deref(&self) -> &Space {
        match self {
            Self::Plain(space) => space,
            Self::Built(timeline) => timeline.space(),
        }
    }
}

/// One state of one file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FileKey {
    path: PathBuf,
    fingerprint: Fingerprint,
}

/// The profiles that are kept in memory.
///
/// Never ask from inside a rayon task: asking may wait for another thread that reads the same file
/// and itself needs the pool. Hosts are read one after the other; each read uses all cores.
#[derive(Debug)]
pub struct Profiles {
    spaces: Cache<FileKey, Space>,
    timelines: Cache<FileKey, Timeline>,
    /// Timelines that lack what statistics do not need.
    reduced: Cache<FileKey, Timeline>,
    traces: Cache<FileKey, TraceIndex>,
    /// Those with the older rows of DCN traffic.
    dcn_traces: Cache<FileKey, TraceIndex>,
    programs: Cache<Vec<FileKey>, Programs>,
    /// Statistics of hosts, as far as they were asked for.
    op_stats: Cache<FileKey, OpStats>,
    /// Parts of them that are being computed.
    new_op_stats: Cache<(FileKey, Parts), OpStats>,
    /// What is odd about files that were read all the same.
    remarks: Mutex<HashMap<FileKey, String>>,
    /// The planes that are read; `None`: all.
    wanted: Option<Wanted>,
}

impl Default for Profiles {
    fn default() -> Self {
        Self::new(store::memory_limit() / SHARE_OF_MEMORY)
    }
}

impl Profiles {
    /// Keeps about `budget` bytes in all.
    pub fn new(budget: usize) -> Self {
        Self {
            spaces: Cache::new(budget / 4),
            timelines: Cache::new(budget / 2),
            reduced: Cache::new(budget / 2),
            traces: Cache::new(budget / 4),
            dcn_traces: Cache::new(budget / 16),
            programs: Cache::new(budget / 4),
            op_stats: Cache::new(budget / 4),
            new_op_stats: Cache::new(budget / 4),
            remarks: Mutex::default(),
            wanted: None,
        }
    }

    /// Reads only some planes, for one answer that needs no others.
    pub fn of_planes(wanted: Wanted) -> Self {
        Self { wanted: Some(wanted), ..Self::default() }
    }

    /// The profile of a host as its file has it.
    pub fn space(&self, file: &HostFile) -> Result<Profile, ProfileError> {
        let (key, file) = current(file)?;
        if let Some(timeline) = self.timelines.get(&key) {
            return Ok(Profile::Built(timeline));
        }
        if let Some(timeline) = self.reduced.get(&key) {
            return Ok(Profile::Built(timeline));
        }
        self.spaces.get_or_make(&key, || self.read(&key, &file)).map(Profile::Plain)
    }

    /// The profile of a host after preprocessing.
    pub fn timeline(&self, file: &HostFile) -> Result<Arc<Timeline>, ProfileError> {
        let (key, file) = current(file)?;
        self.timelines.get_or_make(&key, || {
            let reduced = self.reduced.take(&key).and_then(Arc::into_inner);
            let space = match reduced {
                Some(timeline) => timeline.into_space(),
                None => self.take_space(&key, &file)?,
            };
            Ok(Timeline::build(space))
        })
    }

    /// The profile of a host as statistics need it: a timeline that is there, or one of less.
    pub fn statistics_timeline(&self, file: &HostFile) -> Result<Arc<Timeline>, ProfileError> {
        let (key, file) = current(file)?;
        if let Some(timeline) = self.timelines.get(&key) {
            return Ok(timeline);
        }
        self.reduced
            .get_or_make(&key, || Ok(Timeline::build_for_statistics(self.take_space(&key, &file)?)))
    }

    /// The plain profile, used up where no one else holds it: it is not kept twice.
    fn take_space(&self, key: &FileKey, file: &HostFile) -> Result<Space, ProfileError> {
        let space = self.spaces.take(key).and_then(Arc::into_inner);
        space.map_or_else(|| self.read(key, file), Ok)
    }

    /// The events of a host as the tracks of the trace viewer.
    pub fn trace(&self, file: &HostFile) -> Result<Arc<TraceIndex>, ProfileError> {
        let (key, file) = current(file)?;
        self.traces.get_or_make(&key, || {
            let timeline = self.timeline(&file)?;
            Ok(TraceIndex::build(timeline, &file.host))
        })
    }

    /// The same with the older rows of DCN traffic, which no other tool wants in its timeline.
    pub fn trace_with_dcn(&self, file: &HostFile) -> Result<Arc<TraceIndex>, ProfileError> {
        let (key, file) = current(file)?;
        self.dcn_traces.get_or_make(&key, || {
            let timeline = Timeline::build_with_dcn(self.read(&key, &file)?);
            Ok(TraceIndex::build(Arc::new(timeline), &file.host))
        })
    }

    /// Parts of the statistics of one host. Those that are missing are computed together, for one
    /// pass over the events serves several.
    pub fn op_stats(&self, file: &HostFile, parts: Parts) -> Result<Arc<OpStats>, ProfileError> {
        let (key, file) = current(file)?;
        let known = self.op_stats.get(&key).unwrap_or_default();
        if known.parts.contains(parts) {
            return Ok(known);
        }
        let flight = (key.clone(), parts.without(known.parts));
        let computed = self.new_op_stats.get_or_make(&flight, || {
            let timeline = self.statistics_timeline(&file)?;
            Ok::<_, ProfileError>(OpStats::of_host_with(&timeline, flight.1, &known))
        })?;
        let mut all = OpStats::clone(&computed);
        all.take_parts(&known);
        let all = self.op_stats.put(&key, all);
        self.new_op_stats.take(&flight);
        Ok(all)
    }

    /// Parts of the statistics of a session's hosts together, combined as XProf does.
    pub fn session_op_stats(
        &self,
        session: &Session,
        parts: Parts,
    ) -> Result<Arc<OpStats>, ProfileError> {
        let hosts = session.profiles().map(|file| self.op_stats(file, parts));
        Ok(OpStats::combine(&hosts.collect::<Result<Vec<_>, _>>()?))
    }

    /// The requests and batches of a session's hosts together. They are not kept: finding them
    /// takes one pass over the hosts' events.
    pub fn inference_stats(&self, session: &Session) -> Result<InferenceStats, ProfileError> {
        let of_host = |file| Ok(HostInference::of_host(&*self.statistics_timeline(file)?));
        let hosts = session.profiles().map(of_host).collect::<Result<Vec<_>, _>>()?;
        Ok(inference::combine(hosts))
    }

    /// The HLO programs of all hosts of a session; of two with one program id the first counts.
    pub fn programs(&self, session: &Session) -> Result<Arc<Programs>, ProfileError> {
        let files: Vec<&HostFile> = session.profiles().collect();
        let keys = files.iter().map(|file| current(file).map(|(key, _)| key));
        let key = keys.collect::<Result<Vec<_>, _>>()?;
        self.programs.get_or_make(&key, || {
            let hosts = files
                .iter()
                .map(|file| self.space(file).map(|space| Programs::of_space(&space)))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(Programs::merge(hosts))
        })
    }

    /// What is odd about a host's file, although it can be read: it is empty, or damaged at the
    /// end. Known once the file was read.
    pub fn remark(&self, file: &HostFile) -> Option<String> {
        let (key, file) = current(file).ok()?;
        if key.fingerprint.size == 0 {
            return Some(format!(
                "{}: the file is empty (0 bytes); the profiler writes nothing when a capture \
                 exceeds 2 GiB, the limit of a protobuf",
                file.label
            ));
        }
        self.remarks.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    /// Reads and parses a file, outside any cache.
    fn read(&self, key: &FileKey, file: &HostFile) -> Result<Space, ProfileError> {
        let bytes = read_bytes(file)?;
        let bytes = match file.format {
            ProfileFormat::Protobuf => bytes,
            ProfileFormat::Riegeli => self.join_records(key, file, &bytes),
        };
        Space::parse_planes(bytes, self.wanted).map_err(|error| ProfileError {
            file: file.label.clone(),
            cause: ProfileCause::Malformed(error),
        })
    }
}

impl Profiles {
    /// The records of a continuous capture as one profile. What cannot be read is left out, as in
    /// XProf, and remarked.
    fn join_records(&self, key: &FileKey, file: &HostFile, bytes: &[u8]) -> Bytes {
        let (records, damage) = riegeli::records(bytes);
        let mut remark = damage.map(|damage| damage.to_string());
        let mut pieces = Vec::new();
        for (index, record) in records.into_iter().enumerate() {
            match Space::parse(Bytes::from_vec(record)) {
                Ok(piece) => pieces.push(piece),
                Err(error) => {
                    remark.get_or_insert_with(|| format!("record {index} is left out: {error}"));
                }
            }
        }
        if let Some(remark) = remark {
            let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
            remarks.insert(key.clone(), format!("{}: {remark}", file.label));
        }
        match pieces.as_slice() {
            [piece] => piece.file().clone(),
            pieces => Bytes::from_vec(xplane::merge(pieces)),
        }
    }
}

/// The key of a file's present state, and the file with that state.
fn current(file: &HostFile) -> Result<(FileKey, HostFile), ProfileError> {
    let fingerprint = file.current_fingerprint().map_err(|error| unreadable(file, &error))?;
    let file = HostFile { fingerprint, ..file.clone() };
    Ok((FileKey { path: file.path.clone(), fingerprint }, file))
}

fn unreadable(file: &HostFile, error: &io::Error) -> ProfileError {
    let cause = ProfileCause::Unreadable(error.to_string());
    ProfileError { file: file.label.clone(), cause }
}

fn read_bytes(file: &HostFile) -> Result<Bytes, ProfileError> {
    if file.is_stdin() {
        return store::read_stdin().map_err(|error| unreadable(file, &error));
    }
    let mut attempt = 1;
    loop {
        match file.fence.open_file(&file.path).and_then(|open| store::read_file(&open)) {
            Ok(bytes) => return Ok(bytes),
            Err(error) if attempt == ATTEMPTS || error.kind() != io::ErrorKind::Other => {
                return Err(unreadable(file, &error));
            }
            Err(_) => attempt += 1,
        }
    }
}

/// Bytes of the index of a space beside the file: the positions of the events.
const INDEX_BYTES_PER_EVENT: usize = 4;
/// Bytes of the columns of a timeline, about.
const COLUMN_BYTES_PER_EVENT: usize = 24;
/// Bytes of the columns of a track, about.
const TRACK_BYTES_PER_EVENT: usize = 24;
/// Bytes of a metadata entry, about.
const BYTES_PER_METADATA: usize = 160;

fn weight(space: &Space, bytes_per_event: usize) -> usize {
    let planes = space.planes().map(|plane| {
        let events: usize = plane.lines().map(|line| line.event_count()).sum();
        let metadata = plane.event_metadata().len() + plane.stat_metadata().len();
        events * bytes_per_event + metadata * BYTES_PER_METADATA
    });
    space.file().len() + planes.sum::<usize>()
}

impl Cached for Space {
    fn weight(&self) -> usize {
        weight(self, INDEX_BYTES_PER_EVENT)
    }
}

impl Cached for Timeline {
    fn weight(&self) -> usize {
        weight(self.space(), INDEX_BYTES_PER_EVENT + COLUMN_BYTES_PER_EVENT)
    }
}

impl Cached for TraceIndex {
    fn weight(&self) -> usize {
        self.event_count() * TRACK_BYTES_PER_EVENT
    }
}

impl Cached for OpStats {
    fn weight(&self) -> usize {
        self.bytes()
    }
}

impl Cached for Programs {
    fn weight(&self) -> usize {
        self.iter().map(|program: &Program| program.proto.len() + program.name.len()).sum()
    }
}
