//! Signed cards both ways (C-07): what the official Python and JavaScript SDKs sign verifies here, what is signed here
//! verifies there, and a changed name is refused by all three.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, ensure};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ostiary_canon::{dsse::SigningKey, jwk::Algorithm};
use ostiary_protocol::a2a::signature::{
    Anchors, Conclusion, Draft, Expectation, Form, SignatureStatus, sign, verify, verify_value,
};
use ostiary_tests::target::root;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A card with everything that signers treat differently: text beyond ASCII, numbers, and security schemes.
const FULL: &str = "crates/protocol/tests/signed/full.json";
/// A card with empty REQUIRED members and a requirement without scopes.
const SPARSE: &str = "crates/protocol/tests/signed/sparse.json";
/// A card without anything that signers treat differently.
const PLAIN: &str = "crates/protocol/tests/signed/plain.json";

const KID: &str = "test-key";

/// A verifier that other people wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sdk {
    Python,
    /// Given the card as plain JSON.
    JavaScript,
    /// Given the card in the SDK's own types.
    JavaScriptTyped,
}

const SDKS: [Sdk; 3] = [Sdk::Python, Sdk::JavaScript, Sdk::JavaScriptTyped];

/// The two keys that sign here, in the files that the SDKs read.
struct Bench {
    folder: TempDir,
    ed25519: SigningKey,
    p256: EcdsaKeyPair,
    random: SystemRandom,
}

// === impl Sdk ===

impl Sdk {
    fn command(self, script: &str) -> Result<Command> {
        let targets = root().join("tests/targets");
        let (program, script) = match self {
            Self::Python => {
                (root().join("target/targets/python/bin/python"), targets.join(format!("python/{script}.py")))
            }
            Self::JavaScript | Self::JavaScriptTyped => {
                let installed = root().join("target/targets/javascript/node_modules");
                ensure!(installed.is_dir(), "the JavaScript SDK is not installed: run `cargo xtask setup`");
                (PathBuf::from("node"), targets.join(format!("javascript/{script}.mjs")))
            }
        };
        let mut command = Command::new(program);
        command.arg(script);
        Ok(command)
    }

    /// How the JavaScript SDK is given a card.
    const fn shape(self) -> Option<&'static str> {
        match self {
            Self::Python => None,
            Self::JavaScript => Some("json"),
            Self::JavaScriptTyped => Some("typed"),
        }
    }

    /// The card of a file, signed.
    fn sign(self, key: &str, alg: Algorithm, card: &str) -> Result<Value> {
        let mut command = self.command("sign_card")?;
        command.args([key, alg.as_str(), KID]).arg(root().join(card)).args(self.shape());
        serde_json::from_str(&printed(command)?).context("the signer printed no JSON")
    }

    /// Which of the cards the SDK accepts, in order.
    fn verify(self, bench: &Bench, cards: &[Value]) -> Result<Vec<bool>> {
        let mut command = self.command("verify_card")?;
        command.arg(bench.path("keys.jwks.json")).args(self.shape());
        for (n, card) in cards.iter().enumerate() {
            command.arg(bench.write(&format!("card-{n}.json"), &card.to_string())?);
        }
        let words: Vec<bool> = printed(command)?.lines().map(|line| line == "valid").collect();
        ensure!(words.len() == cards.len(), "{} answers for {} cards", words.len(), cards.len());
        Ok(words)
    }
}

// === impl Bench ===

impl Bench {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let random = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).ok().context("no key")?;
        let p256 = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.as_ref(), &random);
        let bench = Self { folder, ed25519: SigningKey::from_seed([8; 32]), p256: p256.ok().context("a key")?, random };
        bench.write("ed25519.pem", &bench.ed25519.to_pkcs8_pem()?)?;
        let lines = base64::engine::general_purpose::STANDARD.encode(der.as_ref());
        bench.write("p256.pem", &format!("-----BEGIN PRIVATE KEY-----\n{lines}\n-----END PRIVATE KEY-----\n"))?;
        Ok(bench)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    fn write(&self, name: &str, text: &str) -> Result<String> {
        let path = self.path(name);
        fs::write(&path, text).with_context(|| format!("failed to write {path}"))?;
        Ok(path)
    }

    fn key_file(&self, alg: Algorithm) -> String {
        self.path(if alg == Algorithm::EdDsa { "ed25519.pem" } else { "p256.pem" })
    }

    /// The public half of one key, for everybody.
    fn publish(&self, alg: Algorithm) -> Result<Anchors> {
        let b64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let key = if alg == Algorithm::EdDsa {
            let x = b64(self.ed25519.verifying_key().as_bytes());
            json!({"kty": "OKP", "crv": "Ed25519", "kid": KID, "x": x})
        } else {
            let point = self.p256.public_key().as_ref();
            json!({"kty": "EC", "crv": "P-256", "kid": KID, "x": b64(&point[1..33]), "y": b64(&point[33..])})
        };
        let text = json!({"keys": [key]}).to_string();
        self.write("keys.jwks.json", &text)?;
        Anchors::parse(text.as_bytes()).context("our own key set")
    }

    /// The card of a file, signed here.
    fn sign(&self, alg: Algorithm, card: &str, form: Form) -> Result<Value> {
        let mut card: Value = serde_json::from_slice(&fs::read(root().join(card))?)?;
        if alg == Algorithm::EdDsa {
            sign(&mut card, form, &self.ed25519, KID)?;
            return Ok(card);
        }
        let draft = Draft::new(&card, form, alg, KID)?;
        let signature = self.p256.sign(&self.random, draft.input()).ok().context("failed to sign")?;
        draft.put(&mut card, signature.as_ref())?;
        Ok(card)
    }
}

fn printed(mut command: Command) -> Result<String> {
    let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}: {said}", output.status);
    String::from_utf8(output.stdout).context("not UTF-8")
}

fn renamed(card: &Value) -> Value {
    let mut changed = card.clone();
    changed["name"] = json!("Mallory");
    changed
}

fn form_of(card: &Value, anchors: &Anchors) -> Option<Form> {
    match verify(card.to_string().as_bytes(), anchors).best()?.status {
        SignatureStatus::Valid { form, .. } => Some(form),
        _ => None,
    }
}

#[test]
fn what_the_sdks_sign_verifies_here_and_a_changed_name_does_not() -> Result<()> {
    let bench = Bench::new()?;
    for alg in [Algorithm::EdDsa, Algorithm::Es256] {
        let anchors = bench.publish(alg)?;
        for (sdk, card, form) in [
            (Sdk::Python, PLAIN, Form::Specification),
            (Sdk::Python, FULL, Form::Sdk),
            (Sdk::JavaScript, PLAIN, Form::Specification),
            (Sdk::JavaScript, FULL, Form::Sdk),
            (Sdk::JavaScriptTyped, PLAIN, Form::Specification),
            (Sdk::JavaScriptTyped, FULL, Form::JavaScript),
        ] {
            let signed = sdk.sign(&bench.key_file(alg), alg, card)?;
            assert_eq!(form_of(&signed, &anchors), Some(form), "{alg} {sdk:?} {card}");
            let conclusion = verify_value(&renamed(&signed), &anchors).conclude(Expectation::Signature);
            let invalid = ostiary_record::ReasonCode::CardSignatureInvalid;
            assert_eq!(conclusion, Conclusion::Broken(invalid), "{alg} {sdk:?} {card}");
        }
    }
    Ok(())
}

#[test]
fn what_is_signed_here_verifies_in_the_sdks_and_a_changed_name_does_not() -> Result<()> {
    let bench = Bench::new()?;
    for alg in [Algorithm::EdDsa, Algorithm::Es256] {
        bench.publish(alg)?;
        let plain = bench.sign(alg, PLAIN, Form::Specification)?;
        for sdk in SDKS {
            let answers = sdk.verify(&bench, &[plain.clone(), renamed(&plain)])?;
            assert_eq!(answers, [true, false], "{alg} {sdk:?}");
        }
    }
    Ok(())
}

#[test]
fn each_sdk_verifies_the_form_that_is_named_after_it() -> Result<()> {
    let bench = Bench::new()?;
    bench.publish(Algorithm::EdDsa)?;
    for card in [FULL, SPARSE] {
        let forms = [Form::Specification, Form::Sdk, Form::JavaScript];
        let cards = forms.iter().map(|form| bench.sign(Algorithm::EdDsa, card, *form)).collect::<Result<Vec<_>>>()?;
        for (sdk, expected) in [
            (Sdk::Python, [false, true, false]),
            (Sdk::JavaScript, [false, true, false]),
            (Sdk::JavaScriptTyped, [false, false, true]),
        ] {
            assert_eq!(sdk.verify(&bench, &cards)?, expected, "{sdk:?} {card}");
        }
    }
    Ok(())
}

/// The security schemes say where credentials go; a signature by the JavaScript SDK does not cover them, so we say so.
#[test]
fn a_moved_token_url_goes_unnoticed_in_one_sdk_and_is_told_here() -> Result<()> {
    let bench = Bench::new()?;
    let anchors = bench.publish(Algorithm::EdDsa)?;
    let mut card = Sdk::JavaScriptTyped.sign(&bench.key_file(Algorithm::EdDsa), Algorithm::EdDsa, FULL)?;
    let flow = "/securitySchemes/oauth/oauth2SecurityScheme/flows/clientCredentials/tokenUrl";
    *card.pointer_mut(flow).context("the card has a token URL")? = json!("https://mallory.example.test/token");
    assert_eq!(Sdk::JavaScriptTyped.verify(&bench, std::slice::from_ref(&card))?, [true]);
    let report = verify_value(&card, &anchors);
    assert!(report.unsigned().iter().any(|member| member.pointer == "/securitySchemes"), "{report:?}");
    Ok(())
}
