//! All that an app needs to answer a survey: `embed SURVEY.toml STATE VALUE`, where the survey's other files are beside it.

use throng_respondent::{Bundle, Epsilon, Error, Respondent};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [survey, state, value] = &arguments[..] else {
        eprintln!("give the file of a survey, a state directory and a value");
        return Ok(());
    };
    let survey = Bundle::read(survey)?;
    let mut respondent = Respondent::open(state)?;
    respondent.set_epsilon_limit(Epsilon::new(20.0)?)?;
    match value.parse::<u64>() {
        Ok(value) => respondent.answer(&survey, value)?,
        Err(_) => respondent.abstain(&survey)?,
    };
    respondent.send()
}
