//! The ledger of releases on disk, a write-ahead log: a line for every release, written before it is made.
//!
//! The lines are a hash chain: each ends with a hash of it, its number and the hash before, under a key of the analyzer, so
//! that a line that was changed, moved or taken out is found. That the last ones are there is known by a mark which is kept
//! elsewhere (`ledger_mark.rs`).

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use throng_account::ledger::{Booking, Entry, Ledger};
use throng_dp::{CentralGuarantee, Removal};
use throng_wire::Digest;

use super::ledger_line::LedgerLine;
use super::ledger_mark::{LedgerMark, WAY_OUT};
use super::published::{LEDGER, PublishedReleases, ReleaseName};
use super::{DataKey, create_private};
use crate::error::{Context, Error, Result};
use throng_account::Refusal;
use throng_host::atomic_file::{append, truncate};
use throng_host::faults::abort_at;
use throng_host::{bail, ensure};

/// The ledger of an analyzer. Nobody else can change it while it is open.
pub struct ReleaseLedger {
    path: PathBuf,
    key: DataKey,
    written: LedgerContents,
    ledger: Ledger,
    /// Held until it is dropped.
    _lock: File,
}

impl ReleaseLedger {
    /// Reads the ledger in an analyzer's data directory; the budget is that of each population. Refused where a line was changed,
    /// moved or lost, or where something was published that is not in it.
    pub fn open(data: &Path, key: &DataKey, budget: CentralGuarantee<Removal>) -> Result<Self> {
        let lock = lock(data)?;
        let path = data.join("ledger");
        let mark = LedgerMark::read(key)?;
        let written = LedgerContents::read(&path, key)?;
        written.compare(mark, &path, key)?;
        let ledger = written.spent(&path, budget)?;
        written.compare_published(&ledger, data, key)?;
        let ledger = Self { path, key: key.clone(), written, ledger, _lock: lock };
        ledger.settle(mark)?;
        Ok(ledger)
    }

    /// Takes the ledger as it is for the whole one, where its mark is lost or is another's; says how many lines it has. A
    /// ledger with changed lines, or without a release that was published, is refused all the same.
    pub fn accept(data: &Path, key: &DataKey, budget: CentralGuarantee<Removal>) -> Result<u64> {
        let lock = lock(data)?;
        let path = data.join("ledger");
        let written = LedgerContents::read(&path, key)?;
        let ledger = written.spent(&path, budget)?;
        written.compare_published(&ledger, data, key)?;
        let ledger = Self { path, key: key.clone(), written, ledger, _lock: lock };
        match ledger.written.mark() {
            Some(mark) => mark.write(key)?,
            None => bail!(
                Damaged,
                "{} has no line: nothing is spent by it. Put back a copy, or begin with an empty data directory and a new \
                 ledger_mark; what was spent before has to come off the budget then",
                ledger.path.display()
            ),
        }
        ledger.settle(ledger.written.mark())?;
        Ok(ledger.written.lines.len() as u64)
    }

    /// Removes a line that was not written whole, and lets the mark follow what a crash left before it.
    fn settle(&self, mark: Option<LedgerMark>) -> Result<()> {
        if self.written.whole < self.written.all {
            truncate(&self.path, self.written.whole)
                .with_context(|| format!("cannot write {}", self.path.display()))?;
        }
        match self.written.mark() {
            Some(now) if mark != Some(now) => now.write(&self.key),
            _ => Ok(()),
        }
    }

    /// A read-only view of the ledger as it is now: nobody who makes a release is kept waiting, and nothing is changed.
    pub fn look_at(data: &Path, key: &DataKey, budget: CentralGuarantee<Removal>) -> Result<Ledger> {
        let path = data.join("ledger");
        loop {
            let mark = LedgerMark::read(key)?;
            let written = LedgerContents::read(&path, key)?;
            // Somebody may have made a release in between.
            if LedgerMark::read(key)? == mark {
                written.compare(mark, &path, key)?;
                let ledger = written.spent(&path, budget)?;
                written.compare_published(&ledger, data, key)?;
                return Ok(ledger);
            }
        }
    }

    /// The lines about a population as they are published with a release, and what they come to at the budget's delta. They are
    /// without what authenticates them here: nobody else could check that.
    pub fn excerpt(&self, population: &str) -> Result<(String, CentralGuarantee<Removal>)> {
        let mut lines = String::new();
        for line in &self.written.lines {
            if LedgerLine::parse(line)?.population == population {
                lines += line;
                lines.push('\n');
            }
        }
        Ok((lines, self.ledger.spent(population)?))
    }

    /// A ledger of lines as they were published.
    pub fn of_excerpt(lines: &str, budget: CentralGuarantee<Removal>) -> Result<Ledger> {
        ensure!(lines.is_empty() || lines.ends_with('\n'), Damaged, "its last line is not finished");
        let mut ledger = Ledger::new(budget);
        for (number, line) in (1..).zip(lines.lines()) {
            restore(&mut ledger, line).with_context(|| format!("the ledger, line {number}"))?;
        }
        Ok(ledger)
    }

    /// What is in it.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Records a release. When this returns it is on disk; a release that would exceed the budget is refused.
    pub fn record(&mut self, population: &str, entry: Entry) -> Result<Booking> {
        let before = self.ledger().entries(population).to_vec();
        let line = LedgerLine::of(population, &entry);
        // Memory follows the disk: what could not be written is not recorded.
        let mut ledger = self.ledger().clone();
        let recorded = ledger.record(population, entry).map_err(|error| match error {
            throng_account::Error::Refused(reason) => Error::from(Refusal(reason)),
            other => other.into(),
        })?;
        if ledger.entries(population) != before {
            let line = line.to_text()?;
            let tag = self.written.tag(&line, &self.key)?;
            append(&self.path, format!("{line} {tag}\n").as_bytes())
                .with_context(|| format!("cannot write {}", self.path.display()))?;
            abort_at("line-written");
            self.written.push(line, tag);
            self.written.mark().map_or(Ok(()), |mark| mark.write(&self.key))?;
        }
        self.ledger = ledger;
        Ok(recorded)
    }
}

/// What a file has.
struct LedgerContents {
    /// Its lines, without what authenticates each.
    lines: Vec<String>,
    /// What does: a hash under the analyzer's key of the line, its number and the one before it.
    tags: Vec<Digest>,
    /// How many of its bytes are whole lines: one that does not end was not written whole, and nothing was released for it.
    whole: u64,
    /// How many bytes there are.
    all: u64,
}

impl LedgerContents {
    fn read(path: &Path, key: &DataKey) -> Result<Self> {
        let text = match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let (lines, tags) = (Vec::new(), Vec::new());
        let mut written = Self { lines, tags, whole: whole as u64, all: text.len() as u64 };
        for line in text[..whole].split_inclusive(|&byte| byte == b'\n') {
            let number = written.lines.len() + 1;
            let damaged =
                || format!("{}, line {number}: put back the newest copy of the file", path.display());
            let line = line.strip_suffix(b"\n").and_then(|line| str::from_utf8(line).ok());
            let (line, tag) =
                line.and_then(|line| line.rsplit_once(' ')).ok_or_else(|| Error::damaged(damaged()))?;
            let expected = written.tag(line, key)?;
            if tag != expected.to_string() {
                return Err(Error::damaged("it is not what was written there")).damaged(damaged);
            }
            written.push(line.to_owned(), expected);
        }
        Ok(written)
    }

    /// What its lines have spent together. That takes longer than to check them.
    fn spent(&self, path: &Path, budget: CentralGuarantee<Removal>) -> Result<Ledger> {
        let mut ledger = Ledger::new(budget);
        for (number, line) in (1..).zip(&self.lines) {
            restore(&mut ledger, line).with_context(|| format!("{}, line {number}", path.display()))?;
        }
        Ok(ledger)
    }

    fn push(&mut self, line: String, tag: Digest) {
        self.lines.push(line);
        self.tags.push(tag);
    }

    /// What authenticates the next line.
    fn tag(&self, line: &str, key: &DataKey) -> Result<Digest> {
        let (number, last) = (self.lines.len() as u64, self.tags.last().unwrap_or(&Digest::NONE));
        key.tag("ledger line", &[&number.to_be_bytes(), last.as_bytes(), line.as_bytes()])
    }

    /// How far it is.
    fn mark(&self) -> Option<LedgerMark> {
        self.tags.last().map(|&last| LedgerMark { lines: self.tags.len() as u64, last })
    }

    /// Refuses a ledger that is shorter than it was, or whose mark is older than a crash can make it.
    fn compare(&self, mark: Option<LedgerMark>, path: &Path, key: &DataKey) -> Result<()> {
        let (lines, path, marked) = (self.lines.len() as u64, path.display(), key.mark().display());
        let known = mark.map_or(0, |mark| mark.lines);
        if lines < known {
            bail!(
                Damaged,
                "{path} has {lines} lines, and {marked} says that it had {known}: releases that were made are forgotten. Put back \
                 the newest copy of {path}. Without one the budget cannot be kept: `throng serve analyzer --accept-ledger` \
                 takes what is there, and what is missing has to come off the budget in the analyzer's file by hand"
            );
        }
        if lines > known + 1 {
            bail!(
                Damaged,
                "{path} has {lines} lines, and {marked} knows of {known}: it is lost, or of an earlier day. Put back the newest \
                 copy of it. {WAY_OUT}"
            );
        }
        // The lines are authentic, but they may be those of another ledger under the same key.
        let fits = |mark: LedgerMark| self.tags.get(mark.lines as usize - 1) == Some(&mark.last);
        ensure!(
            mark.is_none_or(fits),
            Damaged,
            "{path} is not the ledger that {marked} is of: put back the newest copies of both"
        );
        Ok(())
    }

    /// Refuses a ledger that lacks a release which was published, or what was published of it.
    fn compare_published(&self, ledger: &Ledger, data: &Path, key: &DataKey) -> Result<()> {
        let booked: HashSet<(&str, u64)> = ledger
            .populations()
            .flat_map(|population| ledger.entries(population))
            .map(|entry| (entry.survey.as_str(), entry.epoch))
            .collect();
        let lines: HashSet<&str> = self.lines.iter().map(String::as_str).collect();
        let releases = PublishedReleases::new(data, key);
        let advice = "put back the newest copy of the ledger. Without one, what was released is forgotten: begin with an empty \
             data directory and a new ledger_mark, and take what was spent off the budget by hand";
        for survey in releases.surveys()? {
            let hash = survey.to_string();
            let names = releases.of(survey)?;
            for name in &names {
                ensure!(
                    booked.contains(&(hash.as_str(), name.epoch)),
                    Damaged,
                    "{} was published, and is not in the ledger: {advice}",
                    releases.at(survey, *name).dir().display()
                );
            }
            // Excerpts grow, so the longest has what is in all others. One that is damaged is said where it is shown.
            let length = |name: &&ReleaseName| releases.at(survey, **name).length(LEDGER).unwrap_or(0);
            if let Some(longest) = names.iter().max_by_key(length)
                && let Ok(excerpt) = releases.at(survey, *longest).read(LEDGER)
            {
                ensure!(
                    String::from_utf8_lossy(&excerpt).lines().all(|line| lines.contains(line)),
                    Damaged,
                    "{} has lines that are not in the ledger: {advice}",
                    releases.at(survey, *longest).dir().join(LEDGER).display()
                );
            }
        }
        Ok(())
    }
}

/// Waits until nobody else makes a release.
fn lock(data: &Path) -> Result<File> {
    create_private(data)?;
    let lock = data.join("ledger.lock");
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&lock)
        .and_then(|file| file.lock().map(|()| file))
        .with_context(|| format!("cannot lock {}", lock.display()))
}

/// Adds a line to what was spent.
fn restore(ledger: &mut Ledger, line: &str) -> Result<()> {
    let (population, entry) = LedgerLine::parse(line)?.read()?;
    Ok(ledger.restore(&population, entry)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_host::faults::{Step, trace};

    use std::os::unix::fs::PermissionsExt;
    use throng_account::ledger::{HonestCrowd, Spending};
    use throng_dp::{Delta, Epsilon};
    use throng_wire::{SigningKey, SurveyHash};

    fn guarantee(epsilon: f64, delta: f64) -> CentralGuarantee<Removal> {
        CentralGuarantee::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
    }

    fn entries() -> Vec<Entry> {
        let third = Epsilon::new(1.0 / 3.0).unwrap();
        let crowd = HonestCrowd { honest: 90, miss: Delta::new(1.1e-13).unwrap() };
        let spendings = [
            Spending::Bits { crowd, epsilon_local: third, moved: 1 },
            Spending::Backstop {
                crowd,
                epsilon_backstop: third,
                epsilon_fragment: Epsilon::new(0.1 + 0.2).unwrap(),
                fragments: 4,
                answers_kept: false,
            },
            Spending::Guarantee(guarantee(0.2, 5e-324)),
        ];
        let entry = |(epoch, spending)| Entry { survey: survey(epoch).to_string(), epoch, spending };
        (1..).zip(spendings).map(entry).collect()
    }

    fn survey(number: u64) -> SurveyHash {
        SurveyHash::new([number as u8; 32])
    }

    /// A data directory, and a key directory beside it.
    struct Desk {
        dir: tempfile::TempDir,
        key: DataKey,
    }

    impl Desk {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let key = DataKey::new(&SigningKey::from_seed(&[1; 32]).unwrap(), &dir.path().join("mark"));
            Self { dir, key }
        }

        /// With all entries, each recorded after a start.
        fn filled() -> Self {
            let desk = Self::new();
            for entry in entries() {
                desk.open().unwrap().record("people", entry).unwrap();
            }
            desk
        }

        fn data(&self) -> PathBuf {
            self.dir.path().join("data")
        }

        fn file(&self) -> PathBuf {
            self.data().join("ledger")
        }

        fn text(&self) -> String {
            fs::read_to_string(self.file()).unwrap()
        }

        fn open(&self) -> Result<ReleaseLedger> {
            ReleaseLedger::open(&self.data(), &self.key, guarantee(3.0, 1e-6))
        }

        fn look_at(&self) -> Result<Ledger> {
            ReleaseLedger::look_at(&self.data(), &self.key, guarantee(3.0, 1e-6))
        }

        /// Why it is refused, by whoever opens it and whoever looks at it, both without changing it.
        fn refused(&self) -> String {
            let (before, mark) = (fs::read(self.file()).ok(), fs::read(self.key.mark()).ok());
            let said = format!("{:#}", self.open().err().expect("it is refused"));
            assert!(self.look_at().is_err(), "{said}");
            assert_eq!((fs::read(self.file()).ok(), fs::read(self.key.mark()).ok()), (before, mark));
            said.to_lowercase()
        }
    }

    #[test]
    fn what_was_recorded_is_there_after_a_start() {
        let desk = Desk::filled();
        let mut again = desk.open().unwrap();
        assert_eq!(again.ledger().entries("people"), entries());
        let text = desk.text();
        again.record("people", entries().remove(0)).unwrap();
        drop(again);
        assert_eq!(desk.text(), text, "the same release again");
        // A line that was not written whole is none.
        fs::write(desk.file(), format!("{text}{{\"popul")).unwrap();
        assert_eq!(desk.open().unwrap().ledger().entries("people"), entries());
        assert_eq!(desk.text(), text);
    }

    /// Every byte of every line, and every order and number of lines.
    #[test]
    fn a_line_that_was_changed_moved_or_lost_is_found() {
        let desk = Desk::filled();
        let text = desk.text();
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            fs::write(desk.file(), changed).unwrap();
            assert!(desk.refused().contains("put back the newest cop"), "byte {at}");
            fs::write(desk.file(), &text[..at]).unwrap();
            assert!(desk.refused().contains("put back the newest cop") || at == 0, "{at} bytes");
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for order in [&[1, 0, 2][..], &[0, 2], &[1, 2], &[0, 1], &[0, 1, 2, 2], &[0, 0, 1, 2], &[]] {
            fs::write(desk.file(), order.iter().map(|&at| lines[at]).collect::<String>()).unwrap();
            desk.refused();
        }
        // A smaller epsilon would free budget.
        let smaller = text.replacen("0.3333", "0.0333", 1);
        assert_ne!(smaller, text);
        fs::write(desk.file(), smaller).unwrap();
        assert!(desk.refused().contains("line 1"));
        // Another key knows nothing of these lines.
        fs::write(desk.file(), &text).unwrap();
        let other = DataKey::new(&SigningKey::from_seed(&[2; 32]).unwrap(), &desk.dir.path().join("other"));
        assert!(ReleaseLedger::open(&desk.data(), &other, guarantee(3.0, 1e-6)).is_err());
        assert_eq!(desk.open().unwrap().ledger().entries("people"), entries());
    }

    /// A ledger that was removed is not a fresh one, and a mark that was is not forgotten.
    #[test]
    fn a_ledger_that_is_gone_is_refused_as_long_as_its_mark_is_there() {
        let desk = Desk::filled();
        let (text, mark) = (desk.text(), fs::read(desk.key.mark()).unwrap());
        fs::remove_file(desk.file()).unwrap();
        assert!(desk.refused().contains("has 0 lines"));
        fs::write(desk.file(), &text).unwrap();
        for at in 0..mark.len() {
            let mut changed = mark.clone();
            changed[at] ^= 1;
            fs::write(desk.key.mark(), changed).unwrap();
            assert!(desk.refused().contains("put back the newest copy"), "byte {at}");
            fs::write(desk.key.mark(), &mark[..at]).unwrap();
            desk.refused();
        }
        fs::remove_file(desk.key.mark()).unwrap();
        assert!(desk.refused().contains("--accept-ledger"));
        // Whoever knows that it is whole can say so.
        let accepted = ReleaseLedger::accept(&desk.data(), &desk.key, guarantee(3.0, 1e-6)).unwrap();
        assert_eq!((accepted, fs::read(desk.key.mark()).unwrap()), (3, mark));
        desk.open().unwrap();
        fs::write(desk.file(), "").unwrap();
        assert!(ReleaseLedger::accept(&desk.data(), &desk.key, guarantee(3.0, 1e-6)).is_err());
    }

    /// What a crash between line and mark leaves goes on; an older mark than that is none.
    #[test]
    fn the_mark_may_be_one_line_behind() {
        let desk = Desk::new();
        let mut marks = Vec::new();
        for entry in entries() {
            desk.open().unwrap().record("people", entry).unwrap();
            marks.push(fs::read(desk.key.mark()).unwrap());
        }
        fs::write(desk.key.mark(), &marks[1]).unwrap();
        assert_eq!(desk.look_at().unwrap().entries("people"), entries());
        assert_eq!(desk.open().unwrap().ledger().entries("people"), entries());
        assert_eq!(fs::read(desk.key.mark()).unwrap(), marks[2], "it follows");
        fs::write(desk.key.mark(), &marks[0]).unwrap();
        assert!(desk.refused().contains("knows of 1"));
    }

    /// Whatever was published has to be in the ledger, wherever ledger and mark come from.
    #[test]
    fn a_ledger_without_what_was_published_is_refused() {
        let desk = Desk::filled();
        let (lines, _) = desk.open().unwrap().excerpt("people").unwrap();
        assert_eq!(
            ReleaseLedger::of_excerpt(&lines, guarantee(3.0, 1e-6)).unwrap().entries("people"),
            entries()
        );
        let releases = PublishedReleases::new(&desk.data(), &desk.key);
        let files = [("release.json", b"{}\n".to_vec()), (LEDGER, lines.into_bytes())];
        releases.at(survey(3), ReleaseName { epoch: 3, label: 0 }).write(&files).unwrap();
        desk.open().unwrap();
        // A ledger of two lines, with a mark that fits it.
        let text = desk.text();
        let two: String = text.split_inclusive('\n').take(2).collect();
        fs::write(desk.file(), two).unwrap();
        let accept = || ReleaseLedger::accept(&desk.data(), &desk.key, guarantee(3.0, 1e-6));
        assert!(format!("{:#}", accept().unwrap_err()).contains("was published, and is not in the ledger"));
        fs::remove_file(desk.key.mark()).unwrap();
        fs::remove_file(desk.file()).unwrap();
        assert!(desk.refused().contains("was published"));
        // Another entry for the epoch is not the one that was published.
        fs::remove_dir_all(desk.data().join("releases")).unwrap();
        let mut other = entries().remove(2);
        other.spending = Spending::Guarantee(guarantee(0.1, 5e-324));
        desk.open().unwrap().record("people", other).unwrap();
        releases.at(survey(3), ReleaseName { epoch: 3, label: 0 }).write(&files).unwrap();
        assert!(desk.refused().contains("lines that are not in the ledger"));
    }

    /// The line is on disk before the mark, and both before anything is opened.
    #[test]
    fn what_is_recorded_is_synced_line_first() {
        let desk = Desk::new();
        let mut ledger = desk.open().unwrap();
        let steps =
            trace::of(desk.dir.path(), || drop(ledger.record("people", entries().remove(0)).unwrap()));
        let expected = [
            (Step::Write, "data/ledger"),
            (Step::Sync, "data/ledger"),
            (Step::Sync, "data"),
            (Step::Write, "*"),
            (Step::Sync, "*"),
            (Step::Name, "mark"),
            (Step::Sync, ""),
        ];
        assert_eq!(steps, expected.map(|(step, name)| (step, name.to_owned())));
    }

    /// Of a ledger that says what a deletion cost, the rest is read.
    #[test]
    fn what_deletion_was_said_to_cost_is_no_longer_counted() {
        let text = LedgerLine::of("people", &entries()[0]).to_text().unwrap() + "\n";
        let miss = "\"miss\":\"0.00000000000011\"";
        assert!(text.contains(miss) && !text.contains("deletion"), "{text}");
        let old = format!("{miss},\"deletion\":{{\"epsilon\":\"0.3\",\"delta\":\"1e-9\"}}");
        let ledger = ReleaseLedger::of_excerpt(&text.replace(miss, &old), guarantee(3.0, 1e-6)).unwrap();
        assert_eq!(ledger.entries("people"), &entries()[..1]);
    }

    /// Whoever looks on waits for nobody, and leaves a line alone that is just being written.
    #[test]
    fn a_ledger_can_be_looked_at_while_another_holds_it() {
        let desk = Desk::new();
        assert_eq!(desk.look_at().unwrap().populations().count(), 0);
        assert!(!desk.file().exists(), "nothing is made");
        let mut held = desk.open().unwrap();
        held.record("people", entries().remove(0)).unwrap();
        let text = desk.text() + "{\"popul";
        fs::write(desk.file(), &text).unwrap();
        assert_eq!(desk.look_at().unwrap().entries("people"), &entries()[..1]);
        assert_eq!(desk.text(), text);
    }

    #[test]
    fn the_ledger_can_refuse_and_forgets_nothing_under_a_smaller_budget() {
        let desk = Desk::new();
        let [one, two, _] = entries().try_into().unwrap();
        let open = |epsilon| ReleaseLedger::open(&desk.data(), &desk.key, guarantee(epsilon, 1e-6)).unwrap();
        let mut ledger = open(0.25);
        ledger.record("people", one.clone()).unwrap();
        let error = ledger.record("people", two.clone()).unwrap_err();
        assert!(error.refusal().is_some(), "{error:#}");
        drop(ledger);
        let mut smaller = open(0.1);
        assert_eq!(smaller.ledger().entries("people"), [one]);
        assert!(smaller.record("people", two.clone()).is_err());
        smaller.record("others", two).unwrap_err();
        for path in [desk.file(), desk.key.mark().to_owned()] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
