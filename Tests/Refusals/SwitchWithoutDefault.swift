import Martlet

func closed(_ versions: ConnectionConfiguration.Versions) -> String {
  // error: switch covers known cases, but 'ConnectionConfiguration.Versions' may have additional unknown values
  switch versions {
  case .automatic: "HTTP/2 or 1.1"
  case .http1: "HTTP/1.1"
  case .http2PriorKnowledge: "HTTP/2"
  }
}

func open(_ versions: ConnectionConfiguration.Versions) -> Bool {
  switch versions {
  case .automatic, .http1: true
  case .http2PriorKnowledge: false
  @unknown default: false
  }
}
