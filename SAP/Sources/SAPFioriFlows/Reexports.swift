// `import SAPFioriFlows` provides the session, too.
@_exported public import SAPFoundation
