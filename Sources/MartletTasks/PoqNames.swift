// The names under which Poq's documentation knows these types: code written for it compiles.

/// The session under Poq's name.
public typealias PoqNetworkSession = StandardNetworkSession
/// The authenticator that does nothing, under Poq's name.
public typealias PoqAuthenticator = PassiveAuthenticator
/// The service's message under Poq's name.
public typealias PoqMessage = ServiceMessage
