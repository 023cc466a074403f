/// An observer that keeps credentials, which ``SAPURLSession/clearCredentials()`` takes away.
protocol CredentialHolder {
  func forgetCredentials()
}
