//! The wire format: what parties of a survey send one another, as bytes. docs/wire-format.md describes all of it for other languages.
//!
//! | question | type |
//! |---|---|
//! | who says so? | [`SigningKey`], [`Signature`], [`Signed`], [`SignedSurvey`] |
//! | where is a party, and with which keys? | [`Address`], [`KeyList`] |
//! | who can open a layer, and for how long? | [`LayerKeys`], [`LayerSecretKey`], [`Lifetime`] |
//! | what is an envelope bound to? | [`Route`], [`Stop`], [`Channel`] |
//! | how is a fragment wrapped for a path (onion), and opened? | [`Path`], [`HopContent`], [`AnalyzerContent`], [`Rejection`] |
//! | how long is it? | [`Layout`] |
//! | who may answer? | [`Credential`], [`Token`], [`EnrolmentFile`] |
//! | what does a respondent get for an upload? | [`Receipt`], [`SignedReceipt`], [`ReceiptTree`] (a Merkle tree) |
//! | what does a hop state about an epoch? | [`EpochStatement`], [`Outcome`], [`BatchCount`] |
//!
//! Pure: no files, no sockets, no clock. Randomness is an argument.

pub mod address;
pub mod batch_count;
pub mod channel;
pub mod codec;
pub mod credential;
mod crypto;
pub mod enrolment_file;
pub mod envelope;
mod error;
pub mod fragment;
mod hpke;
pub mod key_list;
pub mod keys;
mod mac;
pub mod onion;
mod origin;
pub mod peel;
pub mod receipt;
pub mod receipt_tree;
pub mod route;
pub mod seal;
pub mod signature;
pub mod signed;
pub mod signed_survey;
pub mod statement;

pub use address::Address;
pub use batch_count::BatchCount;
pub use channel::Channel;
pub use credential::{Credential, CredentialList, Token};
pub use enrolment_file::EnrolmentFile;
pub use envelope::Layout;
pub use error::Error;
pub use fragment::Fragment;
pub use key_list::KeyList;
pub use keys::{LayerKey, LayerKeys, LayerSecretKey, Lifetime};
pub use mac::Mac;
pub use onion::Path;
pub use origin::Origin;
pub use peel::{AnalyzerContent, HopContent};
pub use receipt::Receipt;
pub use receipt_tree::{ReceiptTree, SignedReceipt, SignedReceiptTree};
pub use route::{Route, Stop};
pub use seal::Rejection;
pub use signature::{Signature, SigningKey};
pub use signed::{Document, Signed};
pub use signed_survey::{Approval, SignedSurvey};
pub use statement::{EpochStatement, ForwardedCount, Outcome};

// The agreed file, under the names that it had when it was part of this crate.
pub(crate) use throng_survey::hex;
pub use throng_survey::{Digest, HashedMap, HashedSet, Hasher, Place, Survey, SurveyHash, VerifyingKey};
pub use throng_survey::{digest, jcs, place, survey};
