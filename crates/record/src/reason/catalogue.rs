//! The rows. One block a code; the order is the order of the generated page.

use super::{ReasonRow, Retry};
use crate::layer::Layer;

/// Declares the enum, the list of all codes and the row of each.
macro_rules! catalogue {
    ($($name:ident = $text:literal, $layer:expr, $retry:ident, $meaning:literal, $remedy:literal;)*) => {
        /// Why a check failed, could not tell, or did not apply.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ReasonCode {
            $(#[doc = $meaning] $name,)*
        }

        impl ReasonCode {
            /// All codes, in catalogue order.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// What the documentation says about the code.
            #[must_use]
            pub const fn row(self) -> ReasonRow {
                match self {
                    $(Self::$name => ReasonRow {
                        text: $text,
                        layer: $layer,
                        meaning: $meaning,
                        retry: Retry::$retry,
                        remedy: $remedy,
                    },)*
                }
            }
        }
    };
}

const DECLARATION: Option<Layer> = Some(Layer::Declaration);
const SCHEMA: Option<Layer> = Some(Layer::Schema);
const PROTOCOL: Option<Layer> = Some(Layer::Protocol);
const AUTHORIZATION: Option<Layer> = Some(Layer::Authorization);
const BEHAVIOR: Option<Layer> = Some(Layer::Behavior);
const TEMPORAL: Option<Layer> = Some(Layer::Temporal);
const ANY: Option<Layer> = None;

catalogue! {
    // --- declaration ---
    PinMissing = "PIN_MISSING", DECLARATION, Never,
        "A version or digest that must be pinned is absent, a placeholder, or `latest`.",
        "Write the exact version and the SHA-256 digest into contract.yaml.";
    ArtifactDigestMismatch = "ARTIFACT_DIGEST_MISMATCH", DECLARATION, Never,
        "The file that runs in the environment is not the artifact whose digest the contract pins.",
        "Run the pinned artifact there, or submit a contract that pins the one that runs.";
    CardMalformed = "CARD_MALFORMED", DECLARATION, Never,
        "The agent card is no readable JSON object: truncated, too large, too deep, duplicate keys, or not UTF-8.",
        "Serve one valid JSON object of bounded size at the card's well-known address.";
    CardNotRecognized = "CARD_NOT_RECOGNIZED", DECLARATION, Never,
        "The document is valid JSON and no agent card of a known version.",
        "Serve an A2A 1.0 agent card; see the shape it was taken for.";
    CardVersionUnsupported = "CARD_VERSION_UNSUPPORTED", DECLARATION, Never,
        "The card has the shape of another A2A version than the pinned one.",
        "Migrate the card to the pinned version.";
    CardFieldMissing = "CARD_FIELD_MISSING", DECLARATION, Never,
        "A field that the pinned A2A version requires is absent or empty.",
        "Add the field named by the pointer.";
    CardFieldInvalid = "CARD_FIELD_INVALID", DECLARATION, Never,
        "A card field has the wrong type or format.",
        "Correct the field named by the pointer.";
    CardUnavailable = "CARD_UNAVAILABLE", DECLARATION, May,
        "The card could not be fetched from the candidate.",
        "Make the card reachable at its declared address.";
    CardChanged = "CARD_CHANGED", DECLARATION, Never,
        "The card that the candidate serves is not the card of the bundle.",
        "Deploy the declared card, or submit a new version with the card that is served.";
    InterfaceUrlInsecure = "INTERFACE_URL_INSECURE", DECLARATION, Never,
        "A production interface is not an absolute HTTPS URL.",
        "Declare an absolute https:// URL.";
    InterfaceUrlUnreachable = "INTERFACE_URL_UNREACHABLE", DECLARATION, Never,
        "The URL of an interface cannot work for its callers: relative, a template or placeholder, or an address that only the machine itself or its network knows.",
        "Print the address under which callers reach the agent.";
    CardEndpointsDisagree = "CARD_ENDPOINTS_DISAGREE", DECLARATION, Never,
        "Two readings of one card lead to different endpoints: its 1.0 and its older half, or the answers with and without `A2A-Version`.",
        "Name the same endpoints in both, since evidence for one says nothing of the other.";
    SecurityRequirementDropped = "SECURITY_REQUIREMENT_DROPPED", DECLARATION, Never,
        "A security requirement is written so that a strict reader drops it, and the agent looks open.",
        "Write `securityRequirements` in the shape of 1.0, naming declared schemes only.";
    CardVersionNotRaised = "CARD_VERSION_NOT_RAISED", DECLARATION, Never,
        "The card's content differs from the last known card and its version does not.",
        "Raise `version` with each change of the card.";
    EndpointMoved = "ENDPOINT_MOVED", DECLARATION, Never,
        "An interface is served under a host that the last known card did not name.",
        "Confirm with the agent's owner that the endpoint moved, and submit the new card as a new version.";
    AuthenticationRemoved = "AUTHENTICATION_REMOVED", DECLARATION, Never,
        "What required a credential in the last known card requires none now.",
        "Restore the requirement, or declare the change as a new version.";
    InterfaceUnsupported = "INTERFACE_UNSUPPORTED", DECLARATION, Never,
        "An interface's binding or protocol version is none that the harness can exercise.",
        "List the profiles that can be exercised under `activate` in coverage.yaml; without it every declared interface is to be activated.";
    SkillIdDuplicate = "SKILL_ID_DUPLICATE", DECLARATION, Never,
        "Two skills of the card share one id.",
        "Give each skill an id of its own.";
    CardTextHidden = "CARD_TEXT_HIDDEN", DECLARATION, Never,
        "A text of the card holds characters that a person does not see and a model reads.",
        "Remove the characters; find out who put them there.";
    CardOversized = "CARD_OVERSIZED", DECLARATION, Never,
        "The card, or a text in it, is much larger than what a reader has use for.",
        "Shorten it; what is long belongs into documentation.";
    RequiredExtensionUnsupported = "REQUIRED_EXTENSION_UNSUPPORTED", DECLARATION, Never,
        "The card requires an extension that the consumer does not support.",
        "Drop `required`, or name only consumers that support the extension.";
    InterfaceUndeclared = "INTERFACE_UNDECLARED", DECLARATION, Never,
        "The candidate serves an interface that its card does not declare.",
        "Declare the interface or stop serving it.";
    CardSignatureMissing = "CARD_SIGNATURE_MISSING", DECLARATION, Never,
        "The policy expects a signed card, and the card carries no signature.",
        "Sign the card with a key that the operator knows, or drop the expectation.";
    CardSignatureStripped = "CARD_SIGNATURE_STRIPPED", DECLARATION, Never,
        "The card was signed before and is served without any signature now.",
        "Serve the signed card; find out who took the signature off.";
    CardSignatureMalformed = "CARD_SIGNATURE_MALFORMED", DECLARATION, Never,
        "A signature of the card is no readable detached JWS of bounded size.",
        "Write `protected` and `signature` as base64url without padding, with a JSON header of known parameters.";
    CardSignatureAlgorithmForbidden = "CARD_SIGNATURE_ALGORITHM_FORBIDDEN", DECLARATION, Never,
        "A signature names an algorithm that is not accepted, such as `none` or HS256, or not that of its key.",
        "Sign with EdDSA, ES256 or RS256.";
    CardSignatureKeyIdMissing = "CARD_SIGNATURE_KEY_ID_MISSING", DECLARATION, Never,
        "A signature does not name its key: `kid` is absent from the protected header.",
        "Put `kid` into the protected header.";
    CardSignatureKeyUnknown = "CARD_SIGNATURE_KEY_UNKNOWN", DECLARATION, Never,
        "A signature names a key that the operator does not know.",
        "Sign with a known key, or add the public key to the operator's key set after checking whose it is.";
    CardSignatureInvalid = "CARD_SIGNATURE_INVALID", DECLARATION, Never,
        "A signature by a known key does not fit the card in any of the known canonical forms.",
        "Sign the card as it is served; if it was, somebody changed it on the way.";
    CardSignatureNotChecked = "CARD_SIGNATURE_NOT_CHECKED", DECLARATION, WhenProvided,
        "The card is signed, and no key was given to check it with.",
        "Give the issuer's public keys as a JWK set.";
    CardInputUnsigned = "CARD_INPUT_UNSIGNED", DECLARATION, Never,
        "A member of a signed card is not covered by its signature, so anybody may have put it there.",
        "Do not rely on the member, or sign it in the form of the specification.";
    ToolListMalformed = "TOOL_LIST_MALFORMED", DECLARATION, Never,
        "A tool snapshot is no readable JSON: truncated, too large, too deep, duplicate keys, or not UTF-8.",
        "Save the answer to tools/list as it came.";
    ToolListNotRecognized = "TOOL_LIST_NOT_RECOGNIZED", DECLARATION, Never,
        "The document is valid JSON and no answer to tools/list.",
        "Save the answer to tools/list; see what the document was taken for.";
    ToolListIncomplete = "TOOL_LIST_INCOMPLETE", DECLARATION, Never,
        "The snapshot is the first page of a longer list, or more than a list may hold, so it shows not all tools.",
        "Follow nextCursor to the end and save all tools as one list.";
    ToolListChanged = "TOOL_LIST_CHANGED", DECLARATION, Never,
        "The tools that a server gives now are not those of the bundle's snapshot for the same client, authorization and tenant.",
        "Review the change and take a new snapshot into a new version of the contract, or roll the server back.";
    McpRevisionNotSpoken = "MCP_REVISION_NOT_SPOKEN", DECLARATION, Never,
        "An MCP server does not speak the revision that the contract pins, or none that we know.",
        "Pin the revision that the server speaks, or run a server that speaks the pinned one.";
    ToolNameDuplicate = "TOOL_NAME_DUPLICATE", DECLARATION, Never,
        "Two tools of one list share a name, so nobody can tell which one is called.",
        "Give each tool a name of its own.";
    ToolNameInvalid = "TOOL_NAME_INVALID", DECLARATION, Never,
        "A tool's name is not of the form that the revision asks for.",
        "Use 1 to 128 characters of A-Z, a-z, 0-9, `_`, `-` and `.`.";
    ToolFieldMissing = "TOOL_FIELD_MISSING", DECLARATION, Never,
        "A member that every tool must have is absent: its name or its inputSchema.",
        "Add the member named by the pointer.";
    ToolFieldInvalid = "TOOL_FIELD_INVALID", DECLARATION, Never,
        "A member of a tool, or of the list's result, has the wrong type or value.",
        "Correct the member named by the pointer; leave out what has no value instead of writing null.";
    ToolSchemaInvalid = "TOOL_SCHEMA_INVALID", DECLARATION, Never,
        "A tool's schema is not valid for its dialect, or its root is not what the revision demands.",
        "Correct the schema at the pointer; an inputSchema begins with `\"type\": \"object\"`.";
    ToolSchemaDialectUnknown = "TOOL_SCHEMA_DIALECT_UNKNOWN", DECLARATION, Never,
        "A tool's schema names a dialect that cannot be judged, so it promises nothing to anybody.",
        "Use JSON Schema 2020-12, and leave `$schema` out or name it.";
    ToolSchemaTooLarge = "TOOL_SCHEMA_TOO_LARGE", DECLARATION, Never,
        "A tool's schema is beyond the bounds of size, depth or number of references.",
        "Make the schema smaller or flatter, or split the tool.";
    ToolHeaderInvalid = "TOOL_HEADER_INVALID", DECLARATION, Never,
        "An `x-mcp-header` breaks its rules, so that clients over HTTP drop the tool.",
        "Use unique header tokens on text, integer or boolean parameters reached through `properties` alone.";
    ToolReferenceDangling = "TOOL_REFERENCE_DANGLING", DECLARATION, Never,
        "A `$ref` of a tool's schema leads nowhere.",
        "Put the definition into the `$defs` of that same schema, or correct the reference.";
    ToolReferenceExternal = "TOOL_REFERENCE_EXTERNAL", DECLARATION, Never,
        "A `$ref` of a tool's schema leads out of the schema; it is never fetched.",
        "Put the definition into the `$defs` of that same schema.";
    ToolReferenceEndless = "TOOL_REFERENCE_ENDLESS", DECLARATION, Never,
        "References of a tool's schema run in a circle that judges the same value for ever.",
        "Let recursion go through `properties` or `items`.";
    ToolHintInvalid = "TOOL_HINT_INVALID", DECLARATION, Never,
        "A behaviour hint is not true or false, or annotations are no object, so they say nothing.",
        "Write the hint as true or false, or leave it out.";
    ToolHintContradictory = "TOOL_HINT_CONTRADICTORY", DECLARATION, Never,
        "The hints of a tool contradict each other; the worst of them counts.",
        "Declare what the tool does: what is read-only destroys nothing.";
    ToolTextHidden = "TOOL_TEXT_HIDDEN", DECLARATION, Never,
        "A text of a tool holds characters that a person does not see and a model reads.",
        "Remove the characters; find out who put them there.";
    ToolTextOversized = "TOOL_TEXT_OVERSIZED", DECLARATION, Never,
        "A text of a tool is much longer than a description needs to be.",
        "Shorten it; what is long belongs into documentation.";
    ToolDescriptionContradicts = "TOOL_DESCRIPTION_CONTRADICTS", DECLARATION, Never,
        "A description says something else than the hints or the schema; no description ever grants a permission.",
        "Make description, hints and schema say the same.";
    // --- schema ---
    ContentModeMismatch = "CONTENT_MODE_MISMATCH", SCHEMA, Never,
        "What was returned has another content type than the declared output mode.",
        "Return the declared media type, or declare what is returned.";
    ArtifactMissing = "ARTIFACT_MISSING", SCHEMA, Never,
        "A task completed without an artifact that its skill contract requires.",
        "Produce the artifact before completing the task.";
    ArtifactSchemaViolation = "ARTIFACT_SCHEMA_VIOLATION", SCHEMA, Never,
        "An artifact does not satisfy the schema that its skill contract names.",
        "Correct the artifact at the pointer, or the schema.";
    ContentLost = "CONTENT_LOST", SCHEMA, Never,
        "A part that the contract expects is not in the result, is another, or stands in another place.",
        "Return all expected parts whole and in their order, or correct `expected_parts`.";
    ContentTypeFalse = "CONTENT_TYPE_FALSE", SCHEMA, Never,
        "The bytes of a part are not of the media type that it claims, or cannot be read at all.",
        "Name the type that the bytes have; encode `raw` in base64.";
    AcceptanceNotKept = "ACCEPTANCE_NOT_KEPT", SCHEMA, Never,
        "A result does not keep the acceptance conditions of its contract.",
        "Correct the result at the pointer, or the conditions.";
    ClaimWithoutSource = "CLAIM_WITHOUT_SOURCE", SCHEMA, Never,
        "A claim of a result names no source, or one that the result does not list.",
        "Name a listed source with each claim.";
    OutputSchemaViolation = "OUTPUT_SCHEMA_VIOLATION", SCHEMA, Never,
        "A tool result does not satisfy the tool's output schema.",
        "Correct the result at the pointer, or the schema.";
    // --- protocol ---
    ResponseMalformed = "RESPONSE_MALFORMED", PROTOCOL, Never,
        "An answer is none that the protocol allows: unreadable, wrong envelope, missing members.",
        "Answer with the shape that the pinned specification gives.";
    SendNotBlocking = "SEND_NOT_BLOCKING", PROTOCOL, Never,
        "A message was answered before its task stood still, although it was not asked to return immediately.",
        "Wait for a terminal or interrupted state unless `returnImmediately` is set.";
    HistoryLengthExceeded = "HISTORY_LENGTH_EXCEEDED", PROTOCOL, Never,
        "An answer carries more messages of history than `historyLength` allows.",
        "Cut the history to the most recent messages, and leave it out where none is wanted.";
    VersionNotEnforced = "VERSION_NOT_ENFORCED", PROTOCOL, Never,
        "A request with an unsupported or missing protocol version was served.",
        "Answer VersionNotSupportedError.";
    VersionHeaderRejected = "VERSION_HEADER_REJECTED", PROTOCOL, Never,
        "A request with the declared protocol version was refused.",
        "Accept the version that the interface declares.";
    CapabilityNotKept = "CAPABILITY_NOT_KEPT", PROTOCOL, Never,
        "A declared capability does not work.",
        "Make it work, or declare it false.";
    BindingsDisagree = "BINDINGS_DISAGREE", PROTOCOL, Never,
        "Two bindings of one agent show a task differently, or refuse the same request with different errors.",
        "Serve all bindings from one place, and map errors by the tables of the specification.";
    TenantNotRouted = "TENANT_NOT_ROUTED", PROTOCOL, Never,
        "A task of an interface that names a tenant is served under another routing value, or under none.",
        "Look tasks up under the routing value of the request, or declare no tenant.";
    ExtensionNotEnforced = "EXTENSION_NOT_ENFORCED", PROTOCOL, Never,
        "Who does not name an extension that the card requires is served.",
        "Answer ExtensionSupportRequiredError, or drop `required`.";
    ExtendedCardInvalid = "EXTENDED_CARD_INVALID", PROTOCOL, Never,
        "The extended card is no valid agent card.",
        "Correct the member named by the pointer.";
    ExtendedCardInconsistent = "EXTENDED_CARD_INCONSISTENT", PROTOCOL, Never,
        "The extended card lacks what the public card declares, or leads to other interfaces.",
        "Give the extended card the interfaces of the public one, and at least its skills.";
    InputModeNotEnforced = "INPUT_MODE_NOT_ENFORCED", PROTOCOL, Never,
        "A part of a media type that no skill declares was served.",
        "Answer ContentTypeNotSupportedError, or declare the media type.";
    DuplicateRequestMishandled = "DUPLICATE_REQUEST_MISHANDLED", PROTOCOL, Never,
        "A message that came twice with one id changed what the first one had led to.",
        "Answer a repetition with the first task, or make a task of its own.";
    UndeclaredCapabilityServed = "UNDECLARED_CAPABILITY_SERVED", PROTOCOL, Never,
        "A capability that the card does not declare is served.",
        "Refuse with the error that the specification names, or declare the capability.";
    StreamTruncated = "STREAM_TRUNCATED", PROTOCOL, Never,
        "A stream ended before a terminal or interrupted state.",
        "Send the terminal status before closing the stream.";
    StreamNotClosed = "STREAM_NOT_CLOSED", PROTOCOL, Never,
        "A stream went on, or stayed open, after its task had reached a terminal state.",
        "Close the stream right after the terminal status.";
    StreamOrderInvalid = "STREAM_ORDER_INVALID", PROTOCOL, Never,
        "A stream begins with, or carries, something else than the specification allows at that place.",
        "Begin with the task or a single message; then send only updates of that task.";
    StreamNotIncremental = "STREAM_NOT_INCREMENTAL", PROTOCOL, Never,
        "Streaming is declared and everything came as one late frame.",
        "Send events as they happen.";
    StreamSnapshotStale = "STREAM_SNAPSHOT_STALE", PROTOCOL, Never,
        "A subscription begins with an older state of the task than had been read before.",
        "Begin each subscription with the task as it is at that moment.";
    StreamsDisagree = "STREAMS_DISAGREE", PROTOCOL, Never,
        "Two streams of one task brought different events, or the same ones in another order.",
        "Send each event to every stream of the task, in the order of generation.";
    StreamClosedWithAnother = "STREAM_CLOSED_WITH_ANOTHER", PROTOCOL, Never,
        "A stream ended because another stream of the same task was closed.",
        "Keep the streams of a task independent of each other.";
    DisconnectEndsTask = "DISCONNECT_ENDS_TASK", PROTOCOL, Never,
        "A task ended, stopped or was lost because a stream of it was disconnected.",
        "Let a task go on whoever looks; only CancelTask cancels it.";
    ArtifactChunkInvalid = "ARTIFACT_CHUNK_INVALID", PROTOCOL, Never,
        "A stream brought a piece of an artifact that fits to nothing that came before.",
        "Send an artifact first, append to it only while it is not closed, and give each one an id.";
    ArtifactAssemblyMismatch = "ARTIFACT_ASSEMBLY_MISMATCH", PROTOCOL, Never,
        "A task has other artifacts in the end than its stream had brought.",
        "Stream each piece of an artifact, and keep what was streamed.";
    EventIdMissing = "EVENT_ID_MISSING", PROTOCOL, Never,
        "An event carries no id although the contract promises one.",
        "Give each event an id, or take the promise out of temporal.yaml.";
    EventIdAmbiguous = "EVENT_ID_AMBIGUOUS", PROTOCOL, Never,
        "Two events carry one id, or one event carries two ids in two streams.",
        "Give each event of a task one id, the same in all streams.";
    SendNotImmediate = "SEND_NOT_IMMEDIATE", PROTOCOL, Never,
        "A message with `returnImmediately` was answered only when its task was done.",
        "Answer right after the task was made; or mark the example as brief, if its task never takes long.";
    TaskContextChanged = "TASK_CONTEXT_CHANGED", PROTOCOL, Never,
        "A task was told under another context than before, or than its sender had named.",
        "Keep the context of a task, and refuse a context that cannot be taken.";
    TaskListInvalid = "TASK_LIST_INVALID", PROTOCOL, Never,
        "A list of tasks is in another order, on other pages or with other contents than the specification says.",
        "List the caller's tasks newest first, page by page, each once, without artifacts unless they are asked for.";
    TerminalStateReopened = "TERMINAL_STATE_REOPENED", PROTOCOL, Never,
        "A task left a terminal state.",
        "Start a new task in the same context instead.";
    TaskTransitionForbidden = "TASK_TRANSITION_FORBIDDEN", PROTOCOL, Never,
        "A task moved along an edge that the contract's task machine does not allow.",
        "Keep to the allowed edges, or change the task machine in the contract.";
    TaskStateInvalid = "TASK_STATE_INVALID", PROTOCOL, Never,
        "A task shows a state that the specification does not know or forbids to emit.",
        "Emit only the states of the pinned specification.";
    CancelNotEffective = "CANCEL_NOT_EFFECTIVE", PROTOCOL, May,
        "A cancel was acknowledged and the task went on, or a task at work is never canceled.",
        "Stop the work before the cancel is answered, or answer TaskNotCancelableError.";
    CancelUntold = "CANCEL_UNTOLD", PROTOCOL, Never,
        "Who waited for a task that was canceled was told another end, or none.",
        "End the streams and answers of a canceled task with its state.";
    CancelHidesResult = "CANCEL_HIDES_RESULT", PROTOCOL, Never,
        "A task that is called canceled holds its whole result, and does not say that it must be undone.",
        "Complete the task where its result is made, or name the compensation as operations.yaml promises.";
    TerminalTaskMessageAccepted = "TERMINAL_TASK_MESSAGE_ACCEPTED", PROTOCOL, Never,
        "A message to a terminal task was accepted.",
        "Answer UnsupportedOperationError.";
    TimestampBackwards = "TIMESTAMP_BACKWARDS", PROTOCOL, Never,
        "The status timestamp of a task went backwards.",
        "Use one clock for a task's status, and never step it back.";
    DuplicateEventMishandled = "DUPLICATE_EVENT_MISHANDLED", PROTOCOL, Never,
        "The same event was delivered again as if it were new.",
        "Deliver each event once, or mark the repetition.";
    ErrorCodeMismatch = "ERROR_CODE_MISMATCH", PROTOCOL, Never,
        "A refusal carries another error than the specification names for this condition.",
        "Answer with the named error code and reason.";
    ErrorShapeInvalid = "ERROR_SHAPE_INVALID", PROTOCOL, Never,
        "An error has not the shape that the binding prescribes.",
        "Send the error object of the binding with all its members.";
    ErrorNotRefused = "ERROR_NOT_REFUSED", PROTOCOL, Never,
        "A request that must be refused was served.",
        "Refuse it with the error that the specification or the contract names.";
    CallbackConfigurationLost = "CALLBACK_CONFIGURATION_LOST", PROTOCOL, Never,
        "A push configuration is not what, or not there where, it was registered: another address, no id, missing from the list, or still there after its deletion.",
        "Keep each configuration as it was registered until its task ends or it is deleted.";
    CallbackIgnored = "CALLBACK_IGNORED", PROTOCOL, Never,
        "A push configuration in a message was taken without a word by an agent that sends no notifications.",
        "Refuse it with PushNotificationNotSupportedError, so that its sender does not wait in vain.";
    CallbackNotDelivered = "CALLBACK_NOT_DELIVERED", PROTOCOL, Never,
        "No notification came to a registered callback, although its task went on to its end.",
        "Attempt at least one delivery to each registered callback.";
    CallbackMalformed = "CALLBACK_MALFORMED", PROTOCOL, Never,
        "A notification is no POST of one StreamResponse about the task that the callback was registered for.",
        "Send one StreamResponse in JSON, whatever the binding is.";
    CallbackAfterDeletion = "CALLBACK_AFTER_DELETION", PROTOCOL, Never,
        "An event that happened after a callback had been deleted was delivered to it.",
        "Look for the configuration right before each delivery.";
    CallbackRedeliveryDiffers = "CALLBACK_REDELIVERY_DIFFERS", PROTOCOL, Never,
        "A repeated notification differs from the event that it repeats, so that its receiver takes it for a new one.",
        "Send the same body again.";
    CallbackNotRetried = "CALLBACK_NOT_RETRIED", PROTOCOL, Never,
        "A notification that its receiver could not take was not sent again, as the specification recommends.",
        "Retry with growing pauses.";
    ErrorMappingMixed = "ERROR_MAPPING_MIXED", PROTOCOL, Never,
        "Statuses of errors follow the mapping of 1.0.0 in one place and that of 1.0.1 in another.",
        "Use one mapping throughout, better that of 1.0.1.";
    RefusalUnstable = "REFUSAL_UNSTABLE", PROTOCOL, Never,
        "The same wrong request was refused with one error and then with another.",
        "Answer what is refused with one error each time.";
    RefusalMisplaced = "REFUSAL_MISPLACED", PROTOCOL, Never,
        "What must be refused was refused by another layer than its own, or by a crash.",
        "Check what is asked where it belongs, before anything is done.";
    RetryMisleading = "RETRY_MISLEADING", PROTOCOL, Never,
        "The error for a request that can never succeed invites to send it again.",
        "Leave `RetryInfo` and statuses of passing trouble to what another try can mend.";
    TaskNotFound = "TASK_NOT_FOUND_UNEXPECTED", PROTOCOL, May,
        "A task that the candidate itself created cannot be read back.",
        "Keep tasks for at least the declared retention.";
    // --- authorization ---
    ErrorDataLeak = "ERROR_DATA_LEAK", AUTHORIZATION, Never,
        "An error shows a stack trace, a credential, an internal host or another forbidden field.",
        "Keep internals out of errors.";
    CredentialNotRequired = "CREDENTIAL_NOT_REQUIRED", AUTHORIZATION, Never,
        "A request without credential was served although the card requires one.",
        "Refuse requests without credential.";
    CredentialForeignAccepted = "CREDENTIAL_FOREIGN_ACCEPTED", AUTHORIZATION, Never,
        "A credential of a foreign issuer or audience was accepted.",
        "Check signature, issuer and audience of every credential.";
    CredentialRejected = "CREDENTIAL_REJECTED", AUTHORIZATION, Never,
        "A valid credential was refused.",
        "Accept credentials of the declared scheme, or correct the environment's subject.";
    CrossTenantAccess = "CROSS_TENANT_ACCESS", AUTHORIZATION, Never,
        "A subject read or changed a task of another tenant.",
        "Check the owner before every operation on a task.";
    TaskExistenceRevealed = "TASK_EXISTENCE_REVEALED", AUTHORIZATION, Never,
        "The refusal for another tenant's task differs from that for a task that does not exist.",
        "Answer both in the same way.";
    ForbiddenTaskServed = "FORBIDDEN_TASK_SERVED", AUTHORIZATION, Never,
        "A task was served to a subject of the same tenant to whom the contract forbids it.",
        "Check who may do what to a task, and not its tenant alone.";
    UndeclaredCredentialRequired = "UNDECLARED_CREDENTIAL_REQUIRED", AUTHORIZATION, Never,
        "A credential is asked for although the card declares no security scheme.",
        "Declare the scheme in the card.";
    CallbackUnauthenticated = "CALLBACK_UNAUTHENTICATED", AUTHORIZATION, Never,
        "A notification does not show the credential that its configuration names, or not the right one.",
        "Send `Authorization` with the configuration's scheme and credentials.";
    CallbackElsewhere = "CALLBACK_ELSEWHERE", AUTHORIZATION, Never,
        "What was meant for a registered callback was sent to another address.",
        "Deliver to the registered address alone, and follow no redirect.";
    CallbackAddressUnchecked = "CALLBACK_ADDRESS_UNCHECKED", AUTHORIZATION, Never,
        "A callback address that leads into the agent's own network, or is no https, was taken.",
        "Refuse such addresses when they are registered, and look again at what a name resolves to before each delivery.";
    // --- behavior ---
    SideEffectDeclarationMismatch = "SIDE_EFFECT_DECLARATION_MISMATCH", BEHAVIOR, Never,
        "A tool or operation declared read-only wrote.",
        "Declare the write, or stop writing.";
    RefusedWithEffect = "REFUSED_WITH_EFFECT", BEHAVIOR, Never,
        "A request that was refused left a task behind, or changed one.",
        "Refuse before anything is done, or undo what was.";
    ForbiddenEffect = "FORBIDDEN_EFFECT", BEHAVIOR, Never,
        "An effect that the skill contract forbids was seen.",
        "Stop the effect, or change the contract.";
    // --- temporal ---
    DuplicateWindowExceeded = "DUPLICATE_WINDOW_EXCEEDED", TEMPORAL, May,
        "After a reconnect an event came again that lies further back than the contract says.",
        "Send a subscriber only what happens from now on; or widen the window in the contract.";
    DeadlineMissed = "DEADLINE_MISSED", TEMPORAL, May,
        "A deadline of the temporal contract passed.",
        "Answer in time, or change the temporal contract.";
    CallbackRetryExcessive = "CALLBACK_RETRY_EXCESSIVE", TEMPORAL, Never,
        "A notification was sent again more often, or sooner, than the temporal contract promises.",
        "Wait before each further attempt and stop after the last one, or change `push_retry`.";
    RetentionNotKept = "RETENTION_NOT_KEPT", TEMPORAL, Never,
        "An ended task could not be read any more before its declared retention was over.",
        "Keep ended tasks for as long as temporal.yaml says, or promise less.";
    RetryPolicyViolated = "RETRY_POLICY_VIOLATED", TEMPORAL, Never,
        "A dependency that was down was tried more often, or sooner again, than the retry policy allows.",
        "Stop after `max_attempts`, and wait `backoff_ms` before each further attempt.";
    RecoveryFailed = "RECOVERY_FAILED", TEMPORAL, May,
        "What was interrupted did not go on when the interruption was over.",
        "Bring interrupted tasks to an end, and serve again once a dependency or credential is back.";
    // --- any layer ---
    CredentialExpiredAccepted = "CREDENTIAL_EXPIRED_ACCEPTED", ANY, Never,
        "An expired credential was accepted.",
        "Check the expiry of every credential.";
    CaseExpectationFailed = "CASE_EXPECTATION_FAILED", ANY, Never,
        "A case of the bundle did not yield what it expects.",
        "Compare expected and observed; correct the agent or the case.";
    Nondeterministic = "NONDETERMINISTIC", ANY, May,
        "Repetitions gave different verdicts beyond the contract's tolerance.",
        "Make the behaviour deterministic, or declare the tolerance.";
    DoubleNotAllowed = "DOUBLE_NOT_ALLOWED", ANY, WhenProvided,
        "A double stands where the contract needs the real part.",
        "Run against the real part.";
    ControlFailed = "CONTROL_FAILED", ANY, WhenProvided,
        "The positive control of a negative scenario failed, so its refusal proves nothing.",
        "Make the control work first.";
    ExampleMissing = "EXAMPLE_MISSING", ANY, WhenProvided,
        "The contract has no example with which the promise could be tried.",
        "Add the example that is named to skills.yaml.";
    ObserverMissing = "OBSERVER_MISSING", ANY, WhenProvided,
        "No observer of the environment sees the effect in question.",
        "Add the observer to the environment.";
    CallbackRefused = "CALLBACK_REFUSED", ANY, WhenProvided,
        "The agent refused the address of the callback receiver, as it may for one that is not public, so no delivery can be seen.",
        "Put the receiver under a public https name, or let the agent call it in this environment.";
    ObservationIncomplete = "OBSERVATION_INCOMPLETE", ANY, WhenProvided,
        "What was recorded does not suffice to tell.",
        "See what is missing.";
    TargetUnreachable = "TARGET_UNREACHABLE", ANY, May,
        "The candidate could not be reached.",
        "Start the candidate, or correct its address in the environment.";
    TargetUnresponsive = "TARGET_UNRESPONSIVE", ANY, May,
        "The candidate did not answer within the bound of time.",
        "See why the candidate hangs.";
    TargetRateLimited = "TARGET_RATE_LIMITED", ANY, May,
        "The candidate limits the rate of calls.",
        "Run again later, or raise the limit for the environment.";
    BudgetExceeded = "BUDGET_EXCEEDED", ANY, WhenProvided,
        "A budget of calls, bytes or time was spent before the check could tell.",
        "Raise the budget of the environment, or make the contract smaller.";
    ScenarioNotRun = "SCENARIO_NOT_RUN", ANY, WhenProvided,
        "The scenario that the check reads was not run.",
        "See why it was skipped; run it.";
    HarnessFault = "HARNESS_FAULT", ANY, May,
        "The harness itself failed: a scenario broke off or a check contradicted its own specification.",
        "Report it with the recording; it says nothing about the candidate.";
    SubjectMissing = "SUBJECT_MISSING", ANY, WhenProvided,
        "The environment names no subject that the scenario needs.",
        "Add the subject to the environment.";
    ProviderStateFailed = "PROVIDER_STATE_FAILED", ANY, WhenProvided,
        "A provider state could not be set up.",
        "Repair the provider-state endpoint.";
    CallNotCleared = "CALL_NOT_CLEARED", ANY, WhenProvided,
        "The environment or the contract does not clear this call, so it was not made.",
        "Clear the risk class in the environment, and the operation in operations.yaml.";
    NotDeclared = "NOT_DECLARED", ANY, Never,
        "The agent does not declare what the check is about.",
        "Nothing to do.";
}
