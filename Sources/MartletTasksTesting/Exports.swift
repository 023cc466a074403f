// Tests that use mocks speak of tasks as well.
@_exported public import MartletTasks
