//! Our one function in the engine: a task in, its answer out.
//!
//! Driver and scheduler know its name and types alone. An executor can do what it says: its objects and layer keys are behind it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, BinaryViewArray, LargeBinaryArray,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use crate::keys::Keys;
use crate::objects::Objects;
use crate::task::Task;
use crate::work;

/// What an executor works with.
pub struct Bench {
    /// The objects of its party.
    pub objects: Objects,
    /// Its party's layer keys.
    pub keys: Box<dyn Keys>,
}

/// The function, with or without a bench behind it.
pub struct WorkFunction {
    signature: Signature,
    bench: Option<Arc<Bench>>,
}

impl WorkFunction {
    /// The function as driver and scheduler know it.
    pub fn named() -> ScalarUDF {
        Self::with(None)
    }

    /// The function of an executor.
    pub fn at(bench: Arc<Bench>) -> ScalarUDF {
        Self::with(Some(bench))
    }

    fn with(bench: Option<Arc<Bench>>) -> ScalarUDF {
        let types = [DataType::Binary, DataType::BinaryView, DataType::LargeBinary];
        let signature = types.map(|one| TypeSignature::Exact(vec![one])).to_vec();
        // Volatile: it is never worked out beforehand, where the bench is not.
        let signature = Signature::one_of(signature, Volatility::Volatile);
        ScalarUDF::new_from_impl(Self { signature, bench })
    }

    fn answer(&self, task: &[u8]) -> Result<Vec<u8>> {
        let Some(bench) = &self.bench else { return exec_err!("{NAME} runs on executors alone") };
        let failed = |error: &dyn fmt::Display| DataFusionError::Execution(format!("{NAME}: {error}"));
        let task = Task::from_bytes(task).map_err(|error| failed(&error))?;
        // A panic would take the executor along, and the next one that gets the task.
        let done = catch_unwind(AssertUnwindSafe(|| work::run(&task, &bench.objects, &*bench.keys)));
        done.map_err(|_| failed(&"the task has panicked"))?.map_err(|error| failed(&error))
    }
}

impl ScalarUDFImpl for WorkFunction {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Binary)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(tasks) = args.args.first() else { return exec_err!("{NAME} takes a task") };
        let tasks = tasks.to_array(args.number_rows)?;
        let tasks = tasks_of(&tasks)?;
        let mut answers = BinaryBuilder::new();
        for task in tasks {
            answers.append_value(self.answer(task)?);
        }
        Ok(ColumnarValue::Array(Arc::new(answers.finish())))
    }
}

/// The tasks of a column, however the engine keeps them.
fn tasks_of(column: &ArrayRef) -> Result<Vec<&[u8]>> {
    let tasks: Vec<Option<&[u8]>> = match column.data_type() {
        DataType::Binary => column.as_binary::<i32>().iter().collect::<Vec<_>>(),
        DataType::LargeBinary => column.as_binary::<i64>().iter().collect(),
        DataType::BinaryView => column.as_binary_view().iter().collect(),
        other => return exec_err!("{NAME} takes bytes, not {other}"),
    };
    tasks
        .into_iter()
        .map(|task| task.ok_or_else(|| DataFusionError::Execution("a task is missing".into())))
        .collect()
}

/// The bytes of a column of answers.
pub fn answers_of(column: &ArrayRef) -> Result<Vec<Vec<u8>>> {
    let owned = |one: Option<&[u8]>| one.map(<[u8]>::to_vec).unwrap_or_default();
    let any = column.as_any();
    if let Some(binary) = any.downcast_ref::<BinaryArray>() {
        return Ok(binary.iter().map(owned).collect());
    }
    if let Some(binary) = any.downcast_ref::<BinaryViewArray>() {
        return Ok(binary.iter().map(owned).collect());
    }
    match any.downcast_ref::<LargeBinaryArray>() {
        Some(binary) => Ok(binary.iter().map(owned).collect()),
        None => exec_err!("answers are bytes, not {}", column.data_type()),
    }
}

// The engine compares functions to find a common one. There is one of us.

impl PartialEq for WorkFunction {
    fn eq(&self, other: &Self) -> bool {
        self.bench.is_some() == other.bench.is_some()
    }
}

impl Eq for WorkFunction {}

impl Hash for WorkFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        NAME.hash(state);
    }
}

impl fmt::Debug for WorkFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)
    }
}

/// What it is called in plans.
pub const NAME: &str = "throng_work";
