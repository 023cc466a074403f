package import MartletEngine

/// An observer that is a listener of the engine: it hears all of every task that begins while it is registered.
package protocol ListeningObserver: SAPURLSessionObserving {
  /// Who hears.
  var listener: any EventListener { get }
}
