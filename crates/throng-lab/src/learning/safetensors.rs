//! Models as files that other programs read: the safetensors format.
//!
//! The length of a header (8 bytes, little-endian), the header as JSON (each tensor's type, shape and place), and all
//! numbers, little-endian.

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};
use throng_learn::Network;

/// A model with its tensors by name, and some texts about it.
pub fn safetensors(network: &Network, model: &[f32], about: &[(&str, String)]) -> Result<Vec<u8>> {
    ensure!(model.len() == network.dimension(), "this model is of another network");
    let about: Map<String, Value> =
        about.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
    let mut header = Map::from_iter([("__metadata__".to_owned(), Value::Object(about))]);
    let mut place = 0;
    for (name, shape) in network.tensors() {
        let end = place + 4 * shape.iter().product::<usize>();
        header.insert(name, json!({ "dtype": "F32", "shape": shape, "data_offsets": [place, end] }));
        place = end;
    }
    ensure!(place == 4 * model.len(), "the tensors of the network are not all of its parameters");
    let mut header = serde_json::to_vec(&header)?;
    // Numbers begin at a multiple of their size.
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(&header);
    model.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use throng_learn::Curve;

    use super::*;

    #[test]
    fn tensors_are_where_the_header_says() {
        let network = Network::paper_cnn(2, Curve::Tanh, 10);
        let model: Vec<f32> = (0..network.dimension()).map(|i| i as f32).collect();
        let bytes = safetensors(&network, &model, &[("guarantee", "none".into())]).unwrap();
        let len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header: Value = serde_json::from_slice(&bytes[8..8 + len]).unwrap();
        assert_eq!(header["__metadata__"]["guarantee"], "none");
        let mut ends = vec![0];
        for (name, shape) in network.tensors() {
            let tensor = &header[&name];
            let [from, to] = [0, 1].map(|i| tensor["data_offsets"][i].as_u64().unwrap() as usize);
            assert_eq!(tensor["shape"], json!(shape));
            assert_eq!(to - from, 4 * shape.iter().product::<usize>());
            let first = f32::from_le_bytes(bytes[8 + len + from..][..4].try_into().unwrap());
            assert_eq!(first, (from / 4) as f32);
            assert_eq!(Some(&from), ends.last());
            ends.push(to);
        }
        assert_eq!(bytes.len(), 8 + len + ends.last().unwrap());
        assert!(len.is_multiple_of(8));
        assert!(safetensors(&network, &model[1..], &[]).is_err());
    }
}
