import MartletObservation

let (recorder, metrics, counter) = (HARRecorder(), CallMetrics(), TaskCounter())
print(recorder.har.log.entries.count, metrics.snapshot().text.isEmpty, counter.isActive)
