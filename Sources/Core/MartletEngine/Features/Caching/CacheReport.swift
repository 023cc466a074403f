import MartletSemantics

// Reports the cache's decisions to listeners. Without a listener for them, nothing is computed.
extension InFlightRequest {
  /// A decision of the cache.
  enum Reported {
    /// Why the request is sent, and what the cache adds to it.
    case sending(OriginRequest)
    /// Why no stored response can answer the request.
    case uncacheable
    /// That the request makes stored responses invalid.
    case invalidating
    /// What happens with a response.
    case received(HTTPResponse, CacheUpdate)
  }

  func report(_ reported: @autoclosure () -> Reported) { if call.events.contains(.cacheDecision) { tell(reported()) } }

  private func tell(_ reported: Reported) {
    switch reported {
    case .sending(let sent): tellSending(sent)
    case .uncacheable: tellUncacheable()
    case .invalidating:
      emit(.remove, CacheReason("the request may have changed what they describe", "RFC 9111 §4.4"))
    case .received(let response, let update): tell(update, of: response)
    }
  }

  private func emit(_ action: Event.CacheDecision.Action, _ reason: CacheReason) {
    call.emit(.cacheDecision(.init(action, reason)))
  }

  private func tellSending(_ sent: OriginRequest) {
    if let entry = sent.entry {
      let reason = CachePlan.reasonToValidate(entry.response, for: request.head, policy: policy, at: cache.now())
      emit(sent.head.fields == request.fields ? .forward : .validate, reason)
    } else if !sent.offered.isEmpty {
      emit(.offer, CacheReason("the stored responses are for other fields of the request", "RFC 9111 §4.1"))
    } else if sent.part != nil {
      emit(.complete, CacheReason("only a part is stored", "RFC 9111 §3.4"))
    } else if policy == .reloadIgnoringCacheData {
      emit(.forward, CacheReason("the caller wants a new response", "RFC 9111 §5.2.1.4"))
    } else {
      emit(.forward, CacheReason("no stored response can answer it", "RFC 9111 §4"))
    }
  }

  private func tellUncacheable() {
    if hasForeignHost {
      emit(.forward, CacheReason("its Host is not that of its URL", "RFC 9111 §2"))
    } else if request.method != .get, request.method != .head {
      emit(.forward, CacheReason("its method is \(request.method)", "RFC 9111 §4"))
    } else if !request.body.isEmpty {
      emit(.forward, CacheReason("it has a body, which the key of the cache does not contain", "RFC 9111 §2"))
    } else {
      emit(.forward, CacheReason("it asks for another protocol", "RFC 9110 §7.8"))
    }
  }

  private func tell(_ update: CacheUpdate, of response: HTTPResponse) {
    switch update {
    case .select, .known(.confirm), .known(.serveStale): break  // reported as `cached`
    case .repeatWithoutConditions:
      emit(.repeat, CacheReason("the answer is about a response that is not stored", "RFC 9111 §4.3.4"))
    case .store, .known(.extend), .known(.complete(_, isStored: true)):
      guard mayStore(response) else {
        return emit(.pass, CacheReason("the options of the request forbid it", "RFC 9111 §3"))
      }
      if case .store(let stored) = update { return emit(.store, .storing(stored, at: cache.now())) }
      emit(.store, CacheReason("the parts belong to the same representation", "RFC 9111 §3.4"))
    case .known(.complete): emit(.pass, CacheReason("the rules forbid it for the whole", "RFC 9111 §3"))
    case .known(.update):
      let section = request.method == .head ? "RFC 9111 §4.3.5" : "RFC 9111 §4.3.4"
      emit(.update, CacheReason("the response describes the same representation", section))
    case .known(.remove):
      emit(.pass, refusal(of: response))
      emit(.remove, CacheReason("the response replaces it", "RFC 9111 §4"))
    case .ignore: emit(.pass, refusal(of: response))
    }
  }

  private func refusal(of response: HTTPResponse) -> CacheReason {
    if response.status == .notModified { return CacheReason("it answers the caller's condition", "RFC 9111 §4.3.2") }
    let refusal = StorageRule.refusal(
      of: response.head, to: request.head, receivedAt: cache.now(), wantsStale: policy.wantsStale)
    return refusal ?? CacheReason("it is a part of an encoded response", "RFC 9111 §3.3")
  }
}
