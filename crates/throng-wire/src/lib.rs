//! What all parties of a survey agree on, as bytes: the survey file and its signatures, keys, seals, envelopes,
//! receipts and statements. docs/wire-format.md describes all of it for other languages.
//!
//! Pure: no files, no sockets, no clock. Randomness is an argument.

pub mod address;
pub mod batch_count;
pub mod codec;
pub mod credential;
mod crypto;
pub mod digest;
pub mod enrolment_file;
pub mod envelope;
mod error;
pub mod fragment;
mod hex;
mod hpke;
pub mod jcs;
pub mod key_list;
pub mod keys;
pub mod onion;
pub mod peel;
pub mod place;
pub mod receipt;
pub mod receipt_tree;
pub mod route;
pub mod seal;
pub mod signature;
pub mod signed;
pub mod signed_survey;
pub mod statement;
pub mod survey;

pub use address::Address;
pub use batch_count::BatchCount;
pub use credential::{Credential, CredentialList, Token};
pub use digest::{Digest, HashedMap, HashedSet, Hasher, Mac, SurveyHash};
pub use enrolment_file::EnrolmentFile;
pub use envelope::Layout;
pub use error::Error;
pub use fragment::Fragment;
pub use key_list::KeyList;
pub use keys::{LayerKey, LayerKeys, LayerSecretKey, Lifetime};
pub use onion::Path;
pub use peel::{Opened, Peeled};
pub use place::Place;
pub use receipt::Receipt;
pub use receipt_tree::{ReceiptTree, SignedReceipt, SignedReceiptTree};
pub use route::{Route, Stop};
pub use seal::Rejection;
pub use signature::{Signature, SigningKey, VerifyingKey};
pub use signed::{Document, Signed};
pub use signed_survey::{Approval, SignedSurvey};
pub use statement::{EpochStatement, Forwarded, Outcome};
pub use survey::Survey;
