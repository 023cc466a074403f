// `import SAPOData` provides the session and everything that its API uses, Foundation included. The other files of this
// module import neither: this import is visible in all of them.
@_exported public import SAPFoundation
