//! A stream that is followed piece by piece, on a channel of its own, while other things go on.

use std::time::Duration;

use ostiary_protocol::a2a::{Operation, Reply};
use ostiary_record::{
    ExchangeId,
    ports::{Abort, CouldNotRun},
};

use crate::{scenario::Role, scenarios::client::Client, stage::Stage};

/// How long the next event of a stream is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A streaming call that was begun.
pub(crate) struct Followed {
    client: Client,
    exchange: ExchangeId,
}

// === impl Followed ===

impl Followed {
    /// Begins a streaming call over a connection of its own and waits for what comes first.
    pub(crate) async fn begin(stage: &mut Stage<'_>, operation: Operation) -> Result<Self, CouldNotRun> {
        let mut client = Client::open(stage, Role::Primary).await?;
        let call = client.prepare(operation);
        let exchange = client.start(stage, &call).await?;
        let mut followed = Self { client, exchange };
        followed.next(stage).await?;
        let reply = followed.so_far(stage)?;
        if let Some(other) = followed.client.alternative(&call, &reply) {
            followed.exchange = stage.start(followed.client.channel(), other).await?;
            followed.next(stage).await?;
        }
        Ok(followed)
    }

    /// Waits for the next piece; false when the stream is over, or nothing comes in time.
    pub(crate) async fn next(&mut self, stage: &mut Stage<'_>) -> Result<bool, CouldNotRun> {
        Ok(stage.next_frame(self.client.channel(), self.exchange, PATIENCE).await?.is_some())
    }

    /// What has come so far.
    pub(crate) fn so_far(&self, stage: &Stage<'_>) -> Result<Reply, CouldNotRun> {
        self.client.reply_of(stage, self.exchange)
    }

    /// Follows it to its end, or to the bound of time.
    pub(crate) async fn finish(&mut self, stage: &mut Stage<'_>) -> Result<Reply, CouldNotRun> {
        stage.finish(self.client.channel(), self.exchange).await?;
        self.so_far(stage)
    }

    /// Whether it is a stream that brought something and goes on.
    pub(crate) fn is_open(&self, stage: &mut Stage<'_>) -> Result<bool, CouldNotRun> {
        let reply = self.so_far(stage)?;
        Ok(reply.streamed && reply.end.is_none() && reply.stream_items().next().is_some())
    }

    /// Breaks it off without a word, as a connection that is lost does.
    pub(crate) fn lose(&self, stage: &mut Stage<'_>) {
        stage.abort(self.client.channel(), self.exchange, Abort::Drop);
    }
}
