//! Waivers: asked for by one person, granted by another, ended by anybody who operates.

use clap::{ArgGroup, Args};
use ostiary_canon::{Digest, Profile};
use serde_json::{Value, json};

use super::{agent::word, version::Which};
use crate::{
    api::Api,
    console::{Console, coloured},
    error::CliError,
    exit::Exit,
};

/// Asks for an exception from one check, or grants, revokes or lists such exceptions
///
/// Two people answer for a waiver: one asks, another one grants, and never who submitted the version. What is waived
/// never counts as passed, and routers are told of it.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("what").required(true).args(["check", "grant", "revoke", "list"])))]
pub(crate) struct Waive {
    #[command(flatten)]
    which: Which,
    /// Asks for a waiver of this check
    #[arg(long, value_name = "CHECK", requires = "expires", requires = "reason")]
    check: Option<String>,
    /// Grants a waiver that somebody else asked for
    #[arg(long, value_name = "WAIVER", requires = "reason")]
    grant: Option<String>,
    /// Ends a waiver, and calls in what rests on it
    #[arg(long, value_name = "WAIVER", requires = "reason")]
    revoke: Option<String>,
    /// Lists the waivers of the version
    #[arg(long)]
    list: bool,
    /// Only under this profile; without it, under whatever profile the finding is bound to
    #[arg(long, requires = "check")]
    profile: Option<Profile>,
    /// Digest of the manifest you looked at; without it, the one that was measured last
    #[arg(long, value_name = "DIGEST", requires = "check")]
    manifest: Option<Digest>,
    /// Until when (RFC 3339), at most ninety days from now; nothing that rests on it lasts longer
    #[arg(long, value_name = "TIME", requires = "check")]
    expires: Option<jiff::Timestamp>,
    /// Why, in words; it stands in the audit log
    #[arg(long)]
    reason: Option<String>,
}

// === impl Waive ===

impl Waive {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let api = self.which.remote.api()?;
        let waivers = format!("{}/waivers", self.which.path());
        if let Some(check) = &self.check {
            let asked = api.post(&waivers, &self.request(&api, check).await?).await?;
            console.result(&asked, |console, asked| {
                waiver(console, asked);
                console.line(format!("another person grants it: `ostiary waive … --grant {}`", word(&asked["id"])));
            });
            return Ok(Exit::Done);
        }
        let why = json!({"reason": self.reason});
        let answer = match (&self.grant, &self.revoke) {
            (Some(id), _) => api.post(&format!("{waivers}/{id}/grant"), &why).await?,
            (None, Some(id)) => api.post(&format!("{waivers}/{id}/revoke"), &why).await?,
            (None, None) => {
                let listed = api.get(&waivers).await?;
                console.result(&listed, |console, listed| {
                    let names =
                        ["id", "standing", "check", "profile", "expires_at", "requested_by", "granted_by", "reason"];
                    let rows = listed.as_array().into_iter().flatten();
                    // both people who answer for it
                    let cell = |row: &Value, name| match name {
                        "granted_by" => word(&row["granted"]["by"]),
                        name => word(&row[name]),
                    };
                    console.table(&names, rows.map(|row| names.map(|name| cell(row, name))));
                });
                return Ok(Exit::Done);
            }
        };
        console.result(&answer, waiver);
        Ok(Exit::Done)
    }

    async fn request(&self, api: &Api, check: &str) -> Result<Value, CliError> {
        let manifest = match self.manifest {
            Some(manifest) => manifest.to_string(),
            None => measured(api, &self.which.path()).await?,
        };
        Ok(json!({"check": check, "manifest": manifest, "reason": self.reason,
            "profile": self.profile.as_ref().map(ToString::to_string),
            "expires_at": self.expires.map(|at| at.to_string())}))
    }
}

/// What the version was measured as last: a try that was rejected is known by its evidence alone.
async fn measured(api: &Api, path: &str) -> Result<String, CliError> {
    let status = api.get(path).await?;
    if let Some(manifest) = status["subject"]["manifest"].as_str() {
        return Ok(manifest.to_owned());
    }
    let evidence = api.get(&format!("{path}/evidence")).await?;
    let last = evidence.as_array().and_then(|all| all.last()).and_then(|last| last["subject"]["manifest"].as_str());
    last.map(str::to_owned).ok_or_else(|| {
        CliError::refused("nothing was measured of this version yet, so there is nothing to waive")
            .hint("wait for its static gate")
    })
}

fn waiver(console: &Console, waiver: &Value) {
    let text = |name: &str| word(&waiver[name]);
    let head = format!("waiver {} of {}: {}", text("id"), text("check"), coloured(&text("standing")));
    console.line(format!("{head} (until {}, revision {})", text("expires_at"), text("revision")));
}
