//! Releases for a program: all that `throng release` does, as a call.

use std::path::Path;
use std::sync::Arc;

use throng_analyze::Picture;
use throng_batch::{EmbeddedEngine, Engine};
use throng_wire::{Channel, Route, Signed, Survey};

use super::config::{AnalyzedSurvey, AnalyzerConfig};
use crate::analysis::published::{KEYS, LEDGER, NAMES, RELEASE, SIGNATURES, STATEMENTS, SURVEY};
use crate::analysis::{
    self, CopiedRelease, DisplayOptions, EpochDelivery, Opener, PublishedReleases, ReleaseLedger,
    ReleaseName, ReleaseSummary, SealedFiles, TallyFiles,
};
use crate::error::{Error, Result};
use crate::studio::Studio;
use throng_host::bundle::Bundle;
use throng_host::ensure;

/// An analyzer's files, from which releases are made, also while its server runs.
///
/// An epoch is written into the ledger before its batches are opened. What the population's budget does not allow, or too small a
/// crowd, is refused: [`Error::refusal`] has the rule, and nothing was opened. Made again, the same release costs nothing
/// more.
#[derive(Clone)]
pub struct Analyzer {
    config: AnalyzerConfig,
    engine: Arc<dyn Engine>,
}

/// How a release is made, besides what is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReleaseOptions<'a> {
    /// What it lists, and whom it allows for.
    pub wanted: DisplayOptions,
    /// Values are the pixels of a picture that is so wide.
    pub width: Option<u32>,
    /// A directory for a copy, which takes the place of an older release there.
    pub out: Option<&'a Path>,
    /// Who draws it; without one it has no drawing.
    pub studio: Option<&'a dyn Studio>,
}

impl Analyzer {
    /// The analyzer whose file, `analyzer.toml`, is in this directory.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(AnalyzerConfig::read(&dir.as_ref().join(CONFIG))?))
    }

    /// The analyzer with these settings.
    pub fn new(config: AnalyzerConfig) -> Self {
        let engine = Arc::new(EmbeddedEngine::new(config.memory()));
        Self { config, engine }
    }

    /// The same analyzer, with another engine for its batches than the embedded one of `throng-batch`.
    #[must_use]
    pub fn with_engine(self, engine: Arc<dyn Engine>) -> Self {
        Self { engine, ..self }
    }

    /// Makes a release of an epoch and publishes it in the analyzer's data, for its dashboard; `directory` says where.
    pub fn release(&self, survey: &Bundle, epoch: u64) -> Result<ReleaseSummary> {
        let label = survey.survey().survey().label_number(None)?;
        let options = ReleaseOptions::default();
        let (released, _) = self.release_with(survey, Channel { label, epoch }, &options, &mut |_, _| ())?;
        Ok(released)
    }

    /// The same of a label's crowd, with its picture if it is one. `opened` is told how many bytes of how many that waited sealed
    /// are opened.
    pub fn release_with(
        &self,
        survey: &Bundle,
        channel: Channel,
        options: &ReleaseOptions<'_>,
        opened: &mut dyn FnMut(u64, u64),
    ) -> Result<(ReleaseSummary, Option<Picture>)> {
        let config = &self.config;
        let (files, bundle) = self.files_of(survey)?;
        let (signed, survey) = (bundle.survey(), bundle.survey().survey());
        // Found out before anything is spent.
        let copied = options.check(survey)?;
        let (budget, key) = (config.budget.guarantee()?, config.data_key());
        let opener = Opener {
            data: &config.data,
            survey: signed,
            keys: config.keys(files),
            population: &files.population,
            budget,
            key: &key,
            engine: &*self.engine,
        };
        let Channel { label, epoch } = channel;
        let (release, sealed) = analysis::release(&opener, (label, epoch), opened)?;
        let mut released = ReleaseSummary::of(survey, &release, (&files.population, budget), options.wanted)?;
        released.instances_sealed = sealed;
        let given = (0..release.estimates().counts().len()).map(|value| release.given(value));
        let counts: Vec<f64> = given.map(|count| count.unwrap_or(f64::NAN)).collect();
        let picture = options.width.and_then(|width| Picture::of_counts(width, &counts));
        let mut contents = released.files(survey, &release, picture.as_ref(), options.studio)?;
        let (lines, spent) = ReleaseLedger::open(&config.data, &key, budget)?.excerpt(&files.population)?;
        // What is said to be spent is what the published lines come to, whoever else made a release meanwhile.
        released.epsilon_spent = spent.epsilon().value();
        contents.extend(self.evidence(&bundle, channel)?);
        contents.push((LEDGER, lines.into_bytes()));
        let names = contents.iter().map(|(name, _)| *name).chain([RELEASE]);
        released.files = names.map(str::to_owned).collect();
        contents.push((RELEASE, (serde_json::to_string_pretty(&released)? + "\n").into_bytes()));
        copied.map_or(Ok(()), |copied| copied.write(&contents))?;
        // The analyzer has a copy of its own, which its dashboard shows.
        let published =
            PublishedReleases::new(&config.data, &key).at(signed.hash(), ReleaseName { epoch, label });
        published.write(&contents)?;
        released.directory = Some(options.out.unwrap_or(published.dir()).display().to_string());
        Ok((released, picture))
    }

    /// The surveys that it analyzes, in the order of its file.
    pub fn surveys(&self) -> Result<Vec<Bundle>> {
        self.config.surveys.iter().map(|files| Ok(Bundle::read(&files.survey)?)).collect()
    }

    /// The newest epoch of a label that an instance which gets fragments has released.
    pub fn newest_epoch(&self, survey: &Bundle, label: u32) -> Result<Option<u64>> {
        let (data, signed) = (&self.config.data, survey.survey());
        let mut epochs = TallyFiles::new(data, signed.hash()).epochs(label)?;
        epochs.extend(SealedFiles::new(data, signed.hash()).epochs(label)?);
        for epoch in epochs.into_iter().rev() {
            let delivered = EpochDelivery::of_epoch(data, signed, label, epoch)?;
            if delivered.can_be_released(signed.survey(), label) {
                return Ok(Some(epoch));
            }
        }
        Ok(None)
    }

    /// How many instances are done with an epoch of a label.
    pub fn instances_done(&self, survey: &Bundle, Channel { label, epoch }: Channel) -> Result<u64> {
        Ok(EpochDelivery::of_epoch(&self.config.data, survey.survey(), label, epoch)?.instances())
    }

    /// Its own files of a survey, as they are now.
    fn files_of(&self, survey: &Bundle) -> Result<(&AnalyzedSurvey, Bundle)> {
        let wanted = survey.survey();
        for (files, bundle) in self.config.surveys.iter().zip(self.surveys()?) {
            if bundle.survey().hash() == wanted.hash() {
                return Ok((files, bundle));
            }
        }
        let name = &wanted.survey().name;
        Err(Error::invalid(format!("the analyzer does not have the survey {name}: add it to its file")))
    }

    /// What anyone needs to check a release with `throng verify`, and everybody may know: the survey with all signatures, the
    /// key lists, and what the hops signed about this epoch.
    fn evidence(
        &self,
        bundle: &Bundle,
        Channel { label, epoch }: Channel,
    ) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let signed = bundle.survey();
        let tallies = TallyFiles::new(&self.config.data, signed.hash());
        let mut statements = Vec::new();
        for instance in 1..=signed.survey().delivery.instances {
            let route = Route { survey: signed.hash(), label, epoch, instance };
            // Those of a batch that stays sealed are not about this release.
            if tallies.was_counted(&route)?.is_some() {
                statements.extend(tallies.statements(signed, &route)?.iter().flat_map(Signed::to_bytes));
            }
        }
        let [survey, signatures, _, keys] = bundle.files_after(None)?.map(|(_, text)| text.into_bytes());
        let mut files =
            vec![(SURVEY, survey), (SIGNATURES, signatures), (KEYS, keys), (STATEMENTS, statements)];
        files.extend(bundle.names_text().map(|text| (NAMES, text.as_bytes().to_vec())));
        Ok(files)
    }
}

impl ReleaseOptions<'_> {
    /// Whether a release of this survey can be made so; where its copy goes.
    pub fn check(&self, survey: &Survey) -> Result<Option<CopiedRelease>> {
        if let Some(width) = self.width {
            let values = survey.domain();
            ensure!(
                values.is_multiple_of(u64::from(width)),
                Invalid,
                "a width of {width} does not divide {values} values"
            );
        }
        self.out.map(CopiedRelease::at).transpose()
    }
}

/// The name of an analyzer's file.
const CONFIG: &str = "analyzer.toml";
