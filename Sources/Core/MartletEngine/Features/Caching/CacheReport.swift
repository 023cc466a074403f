import MartletSemantics

// What the cache tells listeners about its decisions. Without such a listener, nothing of it is computed. The functions
// are not inlined: their variables stay out of the frames of waiting calls.
extension InFlightRequest {
  private var isWatched: Bool { call.events.contains(.cacheDecision) }

  private func report(_ action: Event.CacheDecision.Action, _ reason: CacheReason) {
    call.emit(.cacheDecision(.init(action, reason)))
  }

  /// Reports why the request is sent, and what the cache adds to it.
  @inline(never)
  func reportSending(_ sent: OriginRequest) {
    guard isWatched else { return }
    if let entry = sent.entry {
      let reason = CachePlan.reasonToValidate(entry.response, for: request.head, policy: policy, at: cache.now())
      report(sent.head.fields == request.fields ? .forward : .validate, reason)
    } else if !sent.offered.isEmpty {
      report(.offer, CacheReason("the stored responses are for other fields of the request", "RFC 9111 §4.1"))
    } else if sent.part != nil {
      report(.complete, CacheReason("only a part is stored", "RFC 9111 §3.4"))
    } else if policy == .reloadIgnoringCacheData {
      report(.forward, CacheReason("the caller wants a new response", "RFC 9111 §5.2.1.4"))
    } else {
      report(.forward, CacheReason("no stored response can answer it", "RFC 9111 §4"))
    }
  }

  /// Reports why no stored response can answer the request.
  @inline(never)
  func reportUncacheable() {
    guard isWatched else { return }
    if hasForeignHost {
      report(.forward, CacheReason("its Host is not that of its URL", "RFC 9111 §2"))
    } else if request.method != .get, request.method != .head {
      report(.forward, CacheReason("its method is \(request.method)", "RFC 9111 §4"))
    } else if !request.body.isEmpty {
      report(.forward, CacheReason("it has a body, which the key of the cache does not contain", "RFC 9111 §2"))
    } else {
      report(.forward, CacheReason("it asks for another protocol", "RFC 9110 §7.8"))
    }
  }

  /// Returns the keys of the stored responses that the request makes invalid, and reports that.
  @inline(never)
  func invalidKeys(after head: ResponseHead) -> [CacheKey] {
    let keys = InvalidationRule.keys(after: head, to: request.head, partition: key.partition)
    guard isWatched, !keys.isEmpty else { return keys }
    report(.remove, CacheReason("the request may have changed what they describe", "RFC 9111 §4.4"))
    return keys
  }

  /// Reports what happens with a response.
  @inline(never)
  func report(_ update: CacheUpdate, of response: HTTPResponse) {
    guard isWatched else { return }
    switch update {
    case .confirm, .select, .serveStale: break  // reported as `cached`
    case .repeatWithoutConditions:
      report(.repeat, CacheReason("the answer is about a response that is not stored", "RFC 9111 §4.3.4"))
    case .store, .extend, .complete(_, isStored: true):
      guard stores(response) else {
        return report(.pass, CacheReason("the options of the request forbid it", "RFC 9111 §3"))
      }
      if case .store(let stored) = update { return report(.store, .storing(stored, at: cache.now())) }
      report(.store, CacheReason("the parts belong to the same representation", "RFC 9111 §3.4"))
    case .complete: report(.pass, CacheReason("the rules forbid it for the whole", "RFC 9111 §3"))
    case .update:
      let section = request.method == .head ? "RFC 9111 §4.3.5" : "RFC 9111 §4.3.4"
      report(.update, CacheReason("the response describes the same representation", section))
    case .remove:
      report(.pass, refusal(of: response))
      report(.remove, CacheReason("the response replaces it", "RFC 9111 §4"))
    case .ignore: report(.pass, refusal(of: response))
    }
  }

  private func refusal(of response: HTTPResponse) -> CacheReason {
    if response.status == .notModified { return CacheReason("it answers the caller's condition", "RFC 9111 §4.3.2") }
    let refusal = StorageRule.refusal(
      of: response.head, to: request.head, receivedAt: cache.now(), wantsStale: policy.wantsStale)
    return refusal ?? CacheReason("it is a part of an encoded response", "RFC 9111 §3.3")
  }
}
