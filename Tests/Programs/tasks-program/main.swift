import MartletTasks

// A production program: without the equipment for tests. It says which session its tasks run on.
print(type(of: Container.shared.networkSession()))
