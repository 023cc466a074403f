// SAP's module of loggers and errors, by name: `import SAPCommon` finds what is in SAPFoundation.
@_exported public import SAPFoundation
