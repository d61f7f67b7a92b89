import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

// Members that FoundationNetworking's configurations and tasks lack, or declare differently.

func members() async {
    await situation("every member on the base type") {
        let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier("members"))
        configuration.isDiscretionary = false
        configuration.sessionSendsLaunchEvents = false
        configuration.waitsForConnectivity = true
        configuration.allowsCellularAccess = false
        configuration.allowsExpensiveNetworkAccess = false
        configuration.allowsConstrainedNetworkAccess = false
        configuration.multipathServiceType = .handover
        configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
        configuration.tlsMaximumSupportedProtocolVersion = .TLSv13
        configuration.requiresDNSSECValidation = false
        configuration.networkServiceType = .background
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.timeoutIntervalForRequest = 30
        configuration.timeoutIntervalForResource = 60 * 60 * 24
        configuration.httpMaximumConnectionsPerHost = 4
        configuration.httpShouldSetCookies = true
        configuration.httpCookieAcceptPolicy = .always
        configuration.httpAdditionalHeaders = ["User-Agent": "Consumer/1.0"]
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requiresExternalPower = true
        configuration.minimumBattery = 20
        let session = URLSession(configuration: configuration, delegate: Listener(), delegateQueue: nil)
        let kept = session.configuration
        try expect(!kept.sessionSendsLaunchEvents && kept.waitsForConnectivity, "launch events or waiting")
        try expect(!kept.allowsCellularAccess && !kept.allowsExpensiveNetworkAccess, "cellular or expensive networks")
        try expect(!kept.allowsConstrainedNetworkAccess && kept.multipathServiceType == .handover, "constrained")
        try expect(kept.requiresExternalPower && kept.minimumBattery == 20, "power")
        try expectEqual(kept.tlsMinimumSupportedProtocolVersion, .TLSv12)
        try expectEqual(kept.timeoutIntervalForRequest, 30)
        session.invalidateAndCancel()
    }
    await situation("a shared container from a literal, a variable and nil") {
        let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier("container"))
        configuration.sharedContainerIdentifier = "group.example"
        try expectEqual(configuration.sharedContainerIdentifier, "group.example")
        let group: String? = "group.other"
        configuration.sharedContainerIdentifier = group
        if let container = configuration.sharedContainerIdentifier { try expectEqual(container, "group.other") }
        configuration.sharedContainerIdentifier = nil
        try expect(configuration.sharedContainerIdentifier == nil, "there is one")
    }
    await situation("the same members of a default configuration") {
        let configuration = URLSessionConfiguration.default
        configuration.waitsForConnectivity = true
        configuration.allowsExpensiveNetworkAccess = true
        configuration.allowsConstrainedNetworkAccess = true
        configuration.multipathServiceType = .none
        configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
        try expect(configuration.allowsExpensiveNetworkAccess, "expensive networks are forbidden")
        let session = URLSession(configuration: configuration)
        let (data, _) = try await session.data(from: Origin.file("default-members"))
        try expectEqual(String(decoding: data, as: UTF8.self), Origin.text(of: "default-members"))
    }
    await situation("a begin date, without a warning") {
        let listener = Listener()
        let session = URLSession(
            configuration: .background(withIdentifier: Origin.identifier("begin-date")), delegate: listener,
            delegateQueue: nil)
        let task = session.downloadTask(with: Origin.file("begin-date"))
        let date = Date().addingTimeInterval(0.2)
        task.earliestBeginDate = date
        task.countOfBytesClientExpectsToSend = 200
        task.countOfBytesClientExpectsToReceive = 500 * 1024
        try expectEqual((task as? BackgroundDownloadTask)?.earliestBeginDate, date)
        task.resume()
        try expectEqual(try await listener.text.value(), Origin.text(of: "begin-date"))
        try expect(Date() >= date, "it began too early")
        session.finishTasksAndInvalidate()
    }
    await situation("flush and reset, awaited") {
        let session = URLSession(
            configuration: .background(withIdentifier: Origin.identifier("flush")), delegate: Listener(),
            delegateQueue: nil)
        let storage = session.configuration.httpCookieStorage
        let task = session.downloadTask(with: Origin.file("flush"))
        await session.flush()
        await session.reset()
        try expect(storage?.cookies?.isEmpty != false, "cookies are left")
        try expectEqual(task.state, .suspended)
        let tasks = await session.allTasks
        try expectEqual(tasks, [task])
        session.invalidateAndCancel()
    }
    await situation("flush and reset with handlers") {
        let session = URLSession(
            configuration: .background(withIdentifier: Origin.identifier("flush-handlers")), delegate: Listener(),
            delegateQueue: .main)
        let flushed = Outcome<Bool>("the flush")
        let reset = Outcome<Bool>("the reset")
        session.flush { flushed.give(true) }
        session.reset(completionHandler: { reset.give(true) })
        try expect(try await flushed.value(), "it is not flushed")
        try expect(try await reset.value(), "it is not reset")
        session.invalidateAndCancel()
    }
    await situation("description, priority and progress of a task") {
        let listener = Listener()
        let session = URLSession(
            configuration: .background(withIdentifier: Origin.identifier("task-members")), delegate: listener,
            delegateQueue: nil)
        let task = session.downloadTask(with: URLRequest(url: Origin.file("task-members")))
        task.taskDescription = "chapter 1"
        task.priority = URLSessionTask.highPriority
        task.resume()
        try expectEqual(try await listener.text.value(), Origin.text(of: "task-members"))
        try expectEqual(task.taskDescription, "chapter 1")
        try expectEqual(task.progress.fractionCompleted, 1)
        try expectEqual(task.state, .completed)
        try expectEqual(task.countOfBytesReceived, Int64(Origin.text(of: "task-members").utf8.count))
        session.finishTasksAndInvalidate()
    }
}
