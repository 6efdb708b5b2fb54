//! The layer keys that executors hold: of the surveys and places that they work for, in files, as any party has them.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use throng_host::bundle::Bundle;
use throng_host::keygen::read_layer_keys;
use throng_wire::{LayerKeys, Layout, Place, SurveyHash};

use crate::task::Layer;

/// Whoever has layer keys.
pub trait Keys: Send + Sync {
    /// The sizes of what travels on a layer's route, and the keys of a place on it.
    fn layer(&self, layer: &Layer, place: Place) -> io::Result<(Layout, LayerKeys)>;
}

/// Layer keys in the directories of an executor. They are read for each task, so that one that was erased or added is so at
/// once, and none stays in memory.
#[derive(Debug, Default)]
pub struct KeyFiles {
    places: HashMap<(SurveyHash, Place), (Layout, PathBuf)>,
}

impl KeyFiles {
    /// Adds the keys of a place in a survey, which are in a directory.
    pub fn add(&mut self, survey: &Path, place: Place, keys: &Path) -> io::Result<()> {
        let bundle = Bundle::read(survey).map_err(|error| io::Error::other(format!("{error:#}")))?;
        let signed = bundle.survey();
        if signed.survey().party(place).is_none() {
            return Err(io::Error::other(format!("{} has no {place}", survey.display())));
        }
        // That they can be read is found out now, and not in the first epoch.
        read_layer_keys(keys).map_err(|error| io::Error::other(format!("{error:#}")))?;
        let layout = Layout::of(signed.survey());
        self.places.insert((signed.hash(), place), (layout, keys.to_owned()));
        Ok(())
    }
}

impl Keys for KeyFiles {
    fn layer(&self, layer: &Layer, place: Place) -> io::Result<(Layout, LayerKeys)> {
        let survey = layer.route().survey;
        let Some((layout, keys)) = self.places.get(&(survey, place)) else {
            return Err(io::Error::other(format!(
                "this executor has no layer keys of {place} in survey {survey}: add them to its file, and start it again"
            )));
        };
        let keys = read_layer_keys(keys).map_err(|error| io::Error::other(format!("{error:#}")))?;
        Ok((*layout, keys))
    }
}
