// A client's process with Rust's hyper: bench-hyper CONNECTIONS THREADS.
//
// Prints a greeting, then performs each assignment from a line of JSON on standard input, and prints its measurement.
use hyper::body::HttpBody;
use hyper::{client::HttpConnector, Body, Client, StatusCode, Uri};
use serde_json::{json, Value};
use std::{env, error, fs, io, io::BufRead, mem, time::Instant};

type Failure = Box<dyn error::Error + Send + Sync>;
type HttpClient = Client<HttpConnector, Body>;

/// Gets a body and returns its length: of a body that is kept, or of one that is dropped as it arrives.
async fn receive(client: &HttpClient, uri: Uri, keeps: bool) -> Result<usize, Failure> {
    let mut response = client.get(uri).await?;
    if response.status() != StatusCode::OK {
        return Err(format!("status {}", response.status()).into());
    }
    if keeps {
        return Ok(hyper::body::to_bytes(response.into_body()).await?.len());
    }
    let mut count = 0;
    while let Some(chunk) = response.body_mut().data().await {
        count += chunk?.len();
    }
    Ok(count)
}

async fn perform(client: &HttpClient, work: &Value) -> Result<usize, Failure> {
    let uri: Uri = work["url"].as_str().unwrap_or_default().parse()?;
    let number = |key: &str| work[key].as_u64().unwrap_or(1) as usize;
    match work["kind"].as_str() {
        Some("download") => return receive(client, uri, false).await,
        Some("fetch") => {}
        kind => return Err(format!("it does not do {:?}", kind).into()),
    }
    let (times, at_once) = (number("times"), number("atOnce"));
    let callers: Vec<_> = (0..at_once)
        .map(|index| {
            let (client, uri) = (client.clone(), uri.clone());
            let part = times / at_once + usize::from(index < times % at_once);
            tokio::spawn(async move {
                let mut sum = 0;
                for _ in 0..part {
                    sum += receive(&client, uri.clone(), true).await?;
                }
                Ok::<usize, Failure>(sum)
            })
        })
        .collect();
    let mut sum = 0;
    for caller in callers {
        sum += caller.await??;
    }
    Ok(sum)
}

fn memory(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(key));
    let count = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    count.unwrap_or(0) * 1024
}

/// The seconds of the processor and the page faults so far.
fn usage() -> (f64, i64) {
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_minflt)
}

async fn measure(client: &HttpClient, work: &Value) -> Value {
    let _ = fs::write("/proc/self/clear_refs", "5");
    let (processor, faults) = usage();
    let start = Instant::now();
    let result = perform(client, work).await;
    let seconds = start.elapsed().as_secs_f64();
    let (processor_after, faults_after) = usage();
    json!({
        "seconds": seconds, "processor": processor_after - processor, "pageFaults": faults_after - faults,
        "bytes": *result.as_ref().unwrap_or(&0), "peak": memory("VmHWM:"), "resident": memory("VmRSS:"),
        "error": result.err().map(|error| error.to_string()),
    })
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<usize> = env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let &[connections, threads] = &arguments[..] else {
        return Err("usage: bench-hyper CONNECTIONS THREADS".into());
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    runtime.block_on(async {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder().pool_max_idle_per_host(connections).build(connector);
        println!("{}", json!({"version": "0.14"}));
        for line in io::stdin().lock().lines() {
            let work = serde_json::from_str(&line?)?;
            println!("{}", measure(&client, &work).await);
        }
        Ok(())
    })
}
