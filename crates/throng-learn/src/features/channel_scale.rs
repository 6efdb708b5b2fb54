//! Standardization: channels of pictures brought to average 0 and deviation 1, as networks like their inputs.

use crate::{Error, Examples};

/// The average and deviation of each channel of some pictures, to scale others by.
///
/// # Privacy
/// They are functions of all pictures that they come from: take public pictures, never those of respondents.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelScale {
    channels: Vec<(f32, f32)>,
}

impl ChannelScale {
    /// The scale of public pictures whose inputs are `channels` channels, one after the other.
    pub fn of(public: &Examples, channels: usize) -> Result<Self, Error> {
        if channels == 0 || !public.width().is_multiple_of(channels) {
            let expected = "the numbers of an input have to divide into channels";
            return Err(Error::Setting { what: "channels", got: channels as f64, expected });
        }
        let plane = public.width() / channels;
        let moments = |channel: usize| {
            let (mut sum, mut squares) = (0.0, 0.0);
            for i in 0..public.len() {
                for &x in &public.input(i)[channel * plane..][..plane] {
                    sum += f64::from(x);
                    squares += f64::from(x) * f64::from(x);
                }
            }
            let count = (public.len() * plane) as f64;
            let (mean, deviation) = (sum / count, (squares / count - (sum / count).powi(2)).max(0.0).sqrt());
            if deviation > 1e-6 {
                return Ok((mean as f32, deviation as f32));
            }
            Err(Error::Examples(format!("channel {channel} is the same in all pictures; give others")))
        };
        Ok(Self { channels: (0..channels).map(moments).collect::<Result<_, _>>()? })
    }

    /// The average and the deviation of each channel.
    pub fn channels(&self) -> &[(f32, f32)] {
        &self.channels
    }

    /// Writes a picture scaled; to be given to `Examples::map`. Panics unless both have the same number of places.
    pub fn fill(&self, pixels: &[f32], out: &mut [f32]) {
        assert_eq!(pixels.len(), out.len(), "one place for each pixel");
        let plane = (pixels.len() / self.channels.len()).max(1);
        let planes = pixels.chunks(plane).zip(out.chunks_mut(plane));
        for ((pixels, out), (mean, deviation)) in planes.zip(&self.channels) {
            pixels.iter().zip(out).for_each(|(x, y)| *y = (x - mean) / deviation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_get_average_0_and_deviation_1() {
        let inputs = vec![0.0, 0.2, 5.0, 6.0, 0.4, 0.6, 7.0, 8.0];
        let examples = Examples::new(inputs, 4, vec![0, 1], 2).unwrap();
        let scale = ChannelScale::of(&examples, 2).unwrap();
        let [(mean, deviation), (other, _)] = scale.channels() else { panic!("two channels") };
        assert!(
            (mean - 0.3).abs() < 1e-6
                && (deviation - 0.05_f32.sqrt()).abs() < 1e-6
                && (other - 6.5).abs() < 1e-6
        );
        let scaled = examples.map(4, |pixels, out| scale.fill(pixels, out));
        for (average, deviation) in ChannelScale::of(&scaled, 2).unwrap().channels() {
            assert!(average.abs() < 1e-6 && (deviation - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn what_has_no_scale_is_refused() {
        let flat = Examples::new(vec![1.0, 0.0, 1.0, 0.5], 2, vec![0, 1], 2).unwrap();
        assert!(ChannelScale::of(&flat, 2).unwrap_err().to_string().contains("channel 0 is the same"));
        assert!(ChannelScale::of(&flat, 3).is_err() && ChannelScale::of(&flat, 0).is_err());
        assert!(ChannelScale::of(&flat, 1).is_ok());
    }
}
