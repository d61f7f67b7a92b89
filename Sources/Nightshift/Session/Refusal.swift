/// Why a background session does not make a task: Apple's sentences where Apple has one.
enum Refusal {
    static let completionHandler =
        "Completion handler blocks are not supported in background sessions. Use a delegate instead."
    static let uploadFromData = "Upload tasks from NSData are not supported in background sessions."
    static let uploadFromStream = "Upload tasks from a stream are not supported in background sessions."
    static let identifier = "A background session needs an identifier that is not empty."
    static let webSocket = "WebSocket tasks are not supported in background sessions."
}
