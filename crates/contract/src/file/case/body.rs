//! The keys that cases are written with.

use serde_json::Value;

use crate::{
    decode::{Located, choice, file_type},
    file::reasons::ReasonName,
};

file_type! {
    /// One case, as written.
    pub struct CaseBody {
        /// Its name, unique in the bundle.
        case: Located<String>,
        /// What it is about, for people.
        description: Option<String>,
        /// The incident it comes from.
        incident: Option<String>,
        /// What stands before the run.
        given: Option<Given>,
        /// What is called.
        when: Option<When>,
        /// What came back (with `expect`), or what must be seen (without).
        then: Option<Then>,
        /// What must come of it.
        expect: Option<Expect>,
        /// A case of access: the tenant of the subject.
        subject_tenant: Option<String>,
        /// A case of access: the tenant that owns the task.
        target_task_tenant: Option<String>,
        /// A case of access: what is tried.
        operation: Option<Located<String>>,
    }
}

file_type! {
    /// Standard negatives by name.
    pub struct NegativesFile {
        /// The names.
        negative_cases: Vec<Located<NegativeName>>,
    }
}

file_type! {
    /// What stands before the run.
    #[derive(Default)]
    pub struct Given {
        /// The annotations that the tool declares.
        annotation: Option<Value>,
        /// What the producer's store holds.
        fixture_state: Option<Value>,
        /// An extension added to the card.
        card_extension: Option<CardExtension>,
        /// A JSON merge patch (RFC 7396) applied to the card.
        card: Option<Value>,
        /// Extensions that the consumer supports.
        consumer_extensions: Option<Vec<String>>,
        /// A state that the provider sets up.
        provider_state: Option<ProviderState>,
    }
}

file_type! {
    /// An extension as a card declares it.
    pub struct CardExtension {
        /// Its URI.
        uri: Located<String>,
        /// What it is for.
        description: Option<String>,
        /// Whether a consumer must support it.
        required: bool = default,
        /// Its parameters.
        params: Option<Value>,
    }
}

file_type! {
    /// A state that the provider sets up.
    pub struct ProviderState {
        /// Its name.
        name: String,
        /// Its parameters.
        params: Value = default,
    }
}

file_type! {
    /// What is called.
    #[derive(Default)]
    pub struct When {
        /// An MCP tool.
        call: Option<Located<String>>,
        /// An MCP tool; the same as `call`.
        tool: Option<Located<String>>,
        /// The tool's arguments.
        arguments: Option<Value>,
        /// An A2A skill.
        skill: Option<Located<String>>,
        /// An A2A operation: `a2a.send_message`, `a2a.send_streaming_message`, `a2a.get_task`, `a2a.cancel_task`.
        operation: Option<Located<String>>,
        /// The content of the request.
        input_fixture: Option<Located<String>>,
        /// The subject, by its name in the environment; absent = the first valid one.
        subject: Option<Located<String>>,
    }
}

file_type! {
    /// What came back, or what must be seen.
    #[derive(Default)]
    pub struct Then {
        /// A tool's own word on whether it failed.
        is_error as "isError": Option<bool>,
        /// A tool's structured result.
        structured_content as "structuredContent": Option<Value>,
        /// A tool's content blocks.
        content: Option<Value>,
        /// An error object of the protocol.
        error: Option<Value>,
        /// The result of an A2A operation.
        result: Option<Value>,
        /// The responses of an A2A stream, in order.
        stream: Option<Vec<Value>>,
        /// What the producer's store holds afterwards.
        fixture_state: Option<Value>,
        /// Writes that left the producer.
        outbound_writes: Option<u64>,
        /// Messages that left the producer.
        external_messages: Option<u64>,
    }
}

file_type! {
    /// What must come of it.
    #[derive(Default)]
    pub struct Expect {
        /// The verdict, or the answer to an access.
        result: Option<ExpectedResult>,
        /// The reason code.
        reason_code: Option<Located<ReasonName>>,
        /// The finding's stable detail: `plan_id_must_be_string`.
        detail: Option<String>,
        /// What admission must say.
        admission: Option<ExpectedAdmission>,
        /// The reason that a caller may see.
        externally_visible_reason: Option<Located<ReasonName>>,
        /// Fields that leak; empty = none may.
        leaked_fields: Option<Vec<String>>,
        /// The state that the task must end in.
        state: Option<Located<String>>,
        /// What the artifact must satisfy.
        artifact_schema: Option<Located<String>>,
        /// The error that must come back, by its name in the specification.
        protocol_error: Option<String>,
    }
}

choice! {
    /// A verdict, or the answer to an access.
    pub enum ExpectedResult {
        /// The promise is kept.
        Pass = "PASS",
        /// The promise is broken.
        Fail = "FAIL",
        /// It cannot be told.
        Inconclusive = "INCONCLUSIVE",
        /// The promise was not made.
        NotApplicable = "NOT_APPLICABLE",
        /// The access is granted.
        Allow = "ALLOW",
        /// The access is refused.
        Deny = "DENY",
    }
}

choice! {
    /// What admission must say.
    pub enum ExpectedAdmission {
        /// The version may go on.
        Admit = "ADMIT",
        /// The version is rejected.
        Reject = "REJECT",
    }
}

choice! {
    /// The standard negatives (G-01).
    pub enum NegativeName {
        /// A body that is no JSON-RPC request.
        InvalidJsonRpcEnvelope = "invalid_json_rpc_envelope",
        /// A protocol version that the interface does not declare.
        UnsupportedProtocolVersion = "unsupported_protocol_version",
        /// A streaming call to an agent that does not declare streaming.
        UndeclaredStreamingRequest = "undeclared_streaming_request",
        /// A message to a task that is over.
        TerminalTaskMessageAppend = "terminal_task_message_append",
        /// A part that is none.
        MalformedArtifactPart = "malformed_artifact_part",
        /// A tool that does not exist.
        McpUnknownTool = "mcp_unknown_tool",
        /// An input beyond the schema's bounds.
        InputSchemaBoundaryOverflow = "input_schema_boundary_overflow",
        /// An output that misses its schema.
        OutputSchemaViolation = "output_schema_violation",
        /// A task of another tenant.
        CrossTenantTaskAccess = "cross_tenant_task_access",
        /// A credential past its expiry.
        ExpiredTaskCredential = "expired_task_credential",
        /// A cancel while an effect is under way.
        CancelDuringSideEffect = "cancel_during_side_effect",
        /// The same business key twice.
        DuplicateIdempotencyKey = "duplicate_idempotency_key",
        /// A read-only tool that writes.
        ReadonlyToolMutation = "readonly_tool_mutation",
        /// An extension that the consumer does not support.
        RequiredExtensionNotSupported = "required_extension_not_supported",
        /// A capability that is not declared.
        UnsupportedCapability = "unsupported_capability",
        /// An interface that the card does not declare.
        UndeclaredInterface = "undeclared_interface",
        /// A credential that is none.
        FailedAuthentication = "failed_authentication",
        /// A forbidden resource inside the same tenant.
        ForbiddenResourceSameTenant = "forbidden_resource_same_tenant",
        /// The same protocol request twice.
        DuplicateProtocolRequest = "duplicate_protocol_request",
        /// A dependency that is down.
        DependencyDown = "dependency_down",
        /// A dependency that does not answer.
        Timeout = "timeout",
        /// A dependency that breaks off.
        PartialResponse = "partial_response",
    }
}

// === impl When ===

impl When {
    /// The tool, under whichever of its two keys it stands.
    #[must_use]
    pub const fn tool_name(&self) -> Option<&Located<String>> {
        match (&self.call, &self.tool) {
            (Some(name), _) | (None, Some(name)) => Some(name),
            (None, None) => None,
        }
    }
}
