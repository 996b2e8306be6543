//! What a server does while it runs: its listeners, and the tasks beside them.

use std::{future::Future, sync::Arc};

use ostiary_worker::jobs::{Jobs, Pace, Runner, Worker};
use tokio::net::TcpListener;

use crate::{
    app::App,
    courier::Courier,
    database::Database,
    drift,
    gate::{Clerk, Inspector},
    grpc::{self, AdmissionApi, DriftApi, Guard, JobsApi},
    http,
    jobs::LocalJobs,
    tasks::Tasks,
};

/// Starts the two listeners.
pub(super) fn serve(tasks: &Tasks, app: &Arc<App>, listener: TcpListener, grpc: TcpListener) {
    let guard = Guard { tokens: Arc::clone(&app.tokens), metrics: Arc::clone(&app.metrics) };
    let (sightings, observer) = drift::observed(app);
    let stop = tasks.stop().clone();
    tasks.spawn("observer", async move {
        tokio::select! { () = observer.work() => {}, () = stop.cancelled() => {} }
    });
    let admission = AdmissionApi::over(Arc::clone(&app.hub), guard)
        .fed_by(Arc::clone(&app.feed), app.config.admission.wait())
        .watched_by(Arc::new(sightings))
        .until(tasks.stop().clone());
    let router = http::router(Arc::clone(app)).layer(axum::Extension(admission.clone()));
    let stop = tasks.stop().clone();
    tasks.spawn("http", http::listen::serve(listener, router, stop));
    let jobs = JobsApi::new(Arc::new(LocalJobs::new(Arc::clone(app))), Arc::clone(&app.tokens));
    let viewed = Arc::clone(app);
    let answers = Box::new(move || viewed.answers());
    let services = grpc::Services {
        admission,
        drift: DriftApi::new(Arc::clone(app)),
        jobs,
        config: app.config.grpc.clone(),
        answers,
    };
    let stop = tasks.stop().clone();
    tasks.spawn("grpc", async move { report("gRPC", grpc::serve(grpc, services, stop).await) });
}

/// Rings our bells when another server wrote something; without it we would find out by looking now and then.
pub(super) fn listen_to(tasks: &Tasks, app: &Arc<App>, database: &Database) {
    let Some(mut hints) = database.hints() else { return };
    let (wake, work) = (app.wake.clone(), app.work.clone());
    let ring = async move {
        loop {
            hints.next().await;
            wake.ring();
            work.ring();
        }
    };
    until_stop(tasks, "hints", ring);
}

/// Starts what goes on all the time.
pub(super) fn work(tasks: &Tasks, app: &Arc<App>, runner: &Arc<dyn Runner>) {
    let feed = Arc::clone(&app.feed);
    until_stop(tasks, "feed", async move { feed.run().await });
    let hub = Arc::clone(&app.hub);
    until_stop(tasks, "hub", async move { hub.run().await });
    let granted = Arc::clone(&app.granted);
    until_stop(tasks, "granted", async move { granted.run().await });
    let (keeper, every) = (Arc::clone(&app.keeper), app.config.admission.snapshot());
    until_stop(tasks, "snapshot", async move { keeper.run(every).await });
    let clerk = Clerk::new(Arc::clone(app));
    until_stop(tasks, "clerk", async move { clerk.work().await });
    let inspector = Inspector::new(Arc::clone(app));
    until_stop(tasks, "inspector", async move { inspector.work().await });
    let courier = Courier::new(Arc::clone(app));
    until_stop(tasks, "courier", async move { courier.work().await });
    for n in 0..app.config.worker.embedded {
        let jobs: Arc<dyn Jobs> = Arc::new(LocalJobs::new(Arc::clone(app)));
        let worker = Worker::new(format!("embedded-{n}"), jobs, Arc::clone(runner), Pace::default());
        let stop = tasks.stop().clone();
        tasks.spawn("worker", async move { report("embedded worker", worker.work(&stop).await) });
    }
}

/// Starts a task that is dropped where it stands once the server stops.
fn until_stop(tasks: &Tasks, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
    let stop = tasks.stop().clone();
    tasks.spawn(name, async move {
        tokio::select! { () = task => {}, () = stop.cancelled() => {} }
    });
}

fn report<E: std::error::Error>(what: &'static str, served: Result<(), E>) {
    if let Err(error) = served {
        tracing::error!(what, %error, "listener failed");
    }
}
