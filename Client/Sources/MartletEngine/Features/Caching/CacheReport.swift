import MartletSemantics

// Reports the cache's decisions to listeners. Without a listener for them, nothing is computed.
extension CacheTransaction {
  /// A decision of the cache.
  enum Reported {
    /// Why the request is sent, and what the cache adds to it.
    case sending(OriginRequest)
    /// Why no stored response can answer the request.
    case uncacheable(Uncacheable)
    /// That the request makes stored responses invalid.
    case invalidating
    /// What happens with a response.
    case received(HTTPResponse, CacheUpdate)
  }

  func report(_ reported: @autoclosure () -> Reported) { if call.events.contains(.cacheDecision) { tell(reported()) } }

  private func tell(_ reported: Reported) {
    switch reported {
    case .sending(let sent): tellSending(sent)
    case .uncacheable(let uncacheable): emit(.forward, reason(uncacheable))
    case .invalidating:
      emit(.remove, CacheReason("the request may have changed what they describe", "RFC 9111 §4.4"))
    case .received(let response, let update): tell(update, of: response)
    }
  }

  private func emit(_ action: Event.CacheDecision.Action, _ reason: CacheReason) {
    call.emit(.cacheDecision(.init(action, reason)))
  }

  private func tellSending(_ sent: OriginRequest) {
    switch sent.basis {
    case .validating(_, let reason):
      emit(sent.head.fields == request.fields ? .forward : .validate, CacheReason(reason))
    case .offering:
      emit(.offer, CacheReason("the stored responses are for other fields of the request", "RFC 9111 §4.1"))
    case .joining: emit(.complete, CacheReason("only a part is stored", "RFC 9111 §3.4"))
    case .nothing where policy == .reloadIgnoringCacheData:
      emit(.forward, CacheReason("the caller wants a new response", "RFC 9111 §5.2.1.4"))
    case .nothing: emit(.forward, CacheReason("no stored response can answer it", "RFC 9111 §4"))
    }
  }

  /// Returns why no stored response can answer the request, in words.
  func reason(_ uncacheable: Uncacheable) -> CacheReason {
    switch uncacheable {
    case .foreignHost: CacheReason("its Host is not that of its URL", "RFC 9111 §2")
    case .unreadQuery: CacheReason("its content is not known", "RFC 10008 §2.7")
    case .query(let refusal): CacheReason(refusal)
    case .method: CacheReason("its method is \(request.method)", "RFC 9111 §4")
    case .body: CacheReason("it has a body, which the key of the cache does not contain", "RFC 9111 §2")
    case .upgrade: CacheReason("it asks for another protocol", "RFC 9110 §7.8")
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
    case .known(.remove(let refusal)):
      emit(.pass, CacheReason(refusal))
      emit(.remove, CacheReason("the response replaces it", "RFC 9111 §4"))
    case .ignore(let refusal): emit(.pass, CacheReason(refusal))
    }
  }
}
