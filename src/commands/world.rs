//! What every command starts from: the repository, the configuration, the articles, the ledger.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use crate::channel::http::HttpFetch;
use crate::cli::OutputArgs;
use crate::clock::Clock;
use crate::config::{ChannelConfig, Config, LedgerConfig};
use crate::engine::liveness::Scout;
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::git_store::{GitStore, GitStoreOptions};
use crate::ledger::{Snapshot, Store as _};
use crate::model::address::same_address;
use crate::model::ids::{ChannelName, RunId};
use crate::model::item::ItemId;
use crate::model::time::Timestamp;
use crate::plan::survey::{Announce, Selection, survey};
use crate::report::human::Titles;
use crate::source::{self, Catalog};

/// The configuration's name at the repository's top.
pub(super) const CONFIG_NAME: &str = "sayonce.toml";
/// Longest time for one push or fetch.
pub(super) const PUSH_TIMEOUT: Duration = Duration::from_mins(1);

/// Where the command line says things are.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) config: Option<PathBuf>,
    pub(super) repo: Option<PathBuf>,
}

impl Place {
    /// Returns the directory that relative paths start from: `--repo`, else the top of the work tree around the
    /// current directory.
    pub(super) fn top(&self) -> Result<PathBuf, Failure> {
        match &self.repo {
            Some(directory) => directory
                .canonicalize()
                .with_context(|| format!("can't read the directory {}", directory.display()))
                .map_err(|error| Failure::new(Exit::Usage, error)),
            None => Ok(GitStore::top_of(Path::new("."))?),
        }
    }

    /// Returns the configuration's path.
    pub(super) fn config_path(&self, top: &Path) -> PathBuf {
        self.config.clone().unwrap_or_else(|| top.join(CONFIG_NAME))
    }
}

/// The site as the sources and the configuration say.
#[derive(Debug)]
pub(super) struct World {
    pub(super) top: PathBuf,
    pub(super) config: Config,
    pub(super) catalog: Catalog,
    pub(super) announce: Announce,
}

impl World {
    /// Reads configuration and sources. Sources that can't be read are a problem in the catalog: what the ledger
    /// holds can be settled without them.
    pub(super) fn read(place: &Place, clock: &Arc<dyn Clock>) -> Result<Self, Failure> {
        let top = place.top()?;
        let config = Config::load(&place.config_path(&top))?;
        Ok(Self::of(top, config, clock))
    }

    /// Reads the sources of a configuration.
    pub(super) fn of(top: PathBuf, config: Config, clock: &Arc<dyn Clock>) -> Self {
        let names: BTreeSet<ChannelName> = config
            .channels
            .iter()
            .map(ChannelConfig::name)
            // What an author says of a channel that is switched off is no mistake.
            .chain(&config.disabled)
            .cloned()
            .collect();
        let fetch = Fetcher::new(clock);
        let loaded = source::load(&config.site, &names, &top, clock.now(), &fetch);
        let (catalog, announce) = match loaded {
            Ok(catalog) if config.site.enabled => (catalog, Announce::New),
            Ok(catalog) => (catalog, Announce::NothingNew),
            Err(error) => {
                let problem = format!("{:#}; nothing new is announced", anyhow::Error::from(error));
                let catalog = Catalog {
                    problems: vec![problem],
                    ..Catalog::default()
                };
                (catalog, Announce::NothingNew)
            }
        };
        Self {
            top,
            config,
            catalog,
            announce,
        }
    }

    /// Opens the ledger.
    pub(super) fn store(
        &self,
        environment: &Environment,
        clock: &Arc<dyn Clock>,
    ) -> Result<GitStore, Failure> {
        let store = open_store(&self.top, &self.config.ledger, environment, clock)?;
        if is_top(&store, &self.top) {
            return Ok(store);
        }
        let top = store.top().display();
        Err(Failure::new(
            Exit::Usage,
            anyhow!("{} is not the top of its repository", self.top.display()),
        )
        .hinted(format!(
            "the ledger's paths start at the top: use `--repo {top}`"
        )))
    }

    /// Takes `--item` and `--channel` for a command that has not read the ledger; items are looked up in it.
    pub(super) fn selection_before(
        &self,
        arguments: &OutputArgs,
        store: &mut GitStore,
    ) -> Result<Selection, Failure> {
        if arguments.items.is_empty() {
            return self.selection(arguments, &Snapshot::empty());
        }
        let (here, _) = store.read_local()?;
        match self.selection(arguments, &here) {
            Ok(selection) => Ok(selection),
            Err(_not_here) => self.selection(arguments, &store.read()?),
        }
    }

    /// Takes `--item` and `--channel`.
    pub(super) fn selection(
        &self,
        arguments: &OutputArgs,
        snapshot: &Snapshot,
    ) -> Result<Selection, Failure> {
        let mut selection = Selection {
            announce: self.announce,
            ..Selection::default()
        };
        for name in &arguments.channels {
            let channel = self.channel(name)?;
            selection.channels.insert(channel.name().clone());
        }
        for text in &arguments.items {
            selection.items.insert(self.item(text, snapshot)?);
        }
        Ok(selection)
    }

    /// Finds an item by its id, its URL or its source file, and returns the id that the ledger knows it by.
    pub(super) fn item(&self, text: &str, snapshot: &Snapshot) -> Result<ItemId, Failure> {
        let by_url = ItemId::from_url(&self.config.site.url, text).ok();
        let id = by_url.unwrap_or_else(|| ItemId::from_stored(text.trim_matches('/')));
        let path = text.trim_start_matches("./");
        let selection = Selection::default();
        // The time decides only about floods, which have no say in what an article is called.
        let known = survey(
            &self.catalog,
            &self.config,
            snapshot,
            &selection,
            Timestamp::EPOCH,
        );
        let listed = self
            .catalog
            .items
            .iter()
            .find(|item| item.id == id || item.source_file.as_deref() == Some(path));
        if let Some(listed) = listed {
            let mut items = known.items.values();
            let under = items.find(|item| item.canonical_url == listed.canonical_url);
            return Ok(under.map_or(&listed.id, |item| &item.id).clone());
        }
        snapshot
            .rows
            .values()
            .map(|stored| &stored.row)
            .find(|row| {
                row.item == id
                    || row.source.as_deref() == Some(path)
                    || row.aliases.iter().any(|alias| same_address(alias, text))
            })
            .map(|row| row.item.clone())
            .ok_or_else(|| {
                Failure::new(Exit::Usage, anyhow!("there is no item `{text}`")).hinted(
                    "name it by its id, its URL or its source file; `sayonce plan` lists the ids",
                )
            })
    }

    /// Finds an enabled channel, or says which there are.
    pub(super) fn channel(&self, name: &str) -> Result<&ChannelConfig, Failure> {
        let mut channels = self.config.channels.iter();
        let known = channels.find(|channel| channel.name().as_str() == name);
        if let Some(channel) = known {
            return Ok(channel);
        }
        let names: Vec<_> = self
            .config
            .channels
            .iter()
            .map(|channel| channel.name().as_str())
            .collect();
        Err(
            Failure::new(Exit::Usage, anyhow!("there is no enabled channel `{name}`"))
                .hinted(format!("the channels are {}", names.join(", "))),
        )
    }

    /// Returns the titles for headings, the ledger's where the article is not listed any more.
    pub(super) fn titles(&self, snapshot: Option<&Snapshot>) -> Titles {
        let rows = snapshot.iter().flat_map(|snapshot| snapshot.rows.values());
        let mut titles: Titles = rows
            .map(|stored| (stored.row.item.clone(), stored.row.title.clone()))
            .collect();
        titles.extend(
            self.catalog
                .items
                .iter()
                .map(|item| (item.id.clone(), item.title.clone())),
        );
        titles
    }
}

/// Whether `directory` is the top of the work tree that the ledger lives in.
pub(super) fn is_top(store: &GitStore, directory: &Path) -> bool {
    let same = store
        .top()
        .canonicalize()
        .ok()
        .zip(directory.canonicalize().ok());
    same.is_some_and(|(top, directory)| top == directory)
}

/// Fetches sources that are given as URLs, and looks whether pages are online.
pub(super) struct Fetcher(HttpFetch);

impl Fetcher {
    pub(super) fn new(clock: &Arc<dyn Clock>) -> Self {
        Self(HttpFetch::new(Arc::clone(clock)))
    }
}

impl Scout for Fetcher {
    fn check(&mut self, url: &str) -> Result<(), String> {
        source::check_live(url, self)
    }
}

impl source::Fetch for Fetcher {
    fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        self.0.fetch(url)
    }
}

/// Opens the ledger of a repository.
pub(super) fn open_store(
    top: &Path,
    config: &LedgerConfig,
    environment: &Environment,
    clock: &Arc<dyn Clock>,
) -> Result<GitStore, Failure> {
    Ok(GitStore::open(GitStoreOptions {
        repo: top.to_owned(),
        config: config.clone(),
        environment: environment.clone(),
        clock: Arc::clone(clock),
        push_timeout: PUSH_TIMEOUT,
    })?)
}

/// Names this run: GitHub's number and attempt, or a random word.
pub(super) fn run_id(environment: &Environment) -> Result<RunId, Failure> {
    if let Some(number) = environment.get("GITHUB_RUN_ID") {
        let attempt = environment.get("GITHUB_RUN_ATTEMPT").unwrap_or("1");
        return Ok(RunId::new(format!("github:{number}/{attempt}")));
    }
    let word: String = crate::model::ids::hex(&seed()?).chars().take(12).collect();
    Ok(RunId::new(format!("local:{word}")))
}

/// Draws 256 random bits from the operating system.
pub(super) fn seed() -> Result<[u8; 32], Failure> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| {
        Failure::new(
            Exit::Internal,
            anyhow!("the system gives no random numbers: {error}"),
        )
    })?;
    Ok(seed)
}

/// Returns when something that lasts `duration` from `now` ends.
pub(super) fn deadline(now: Timestamp, duration: Option<Duration>) -> Option<Timestamp> {
    duration.map(|duration| now.plus(duration))
}
