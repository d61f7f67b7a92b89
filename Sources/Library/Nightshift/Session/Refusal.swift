/// The reasons for which a background session refuses to make a task. If Apple's systems print a message for a reason,
/// the same message is used here.
enum SessionRefusal {
    static let completionHandler =
        "Completion handler blocks are not supported in background sessions. Use a delegate instead."
    static let uploadFromData = "Upload tasks from NSData are not supported in background sessions."
    static let uploadFromStream = "Upload tasks from a stream are not supported in background sessions."
    static let identifier = "A background session needs an identifier that is not empty."
    static func foundationsInitializer(_ identifier: String) -> String {
        """
        A background configuration ("\(identifier)") was passed to FoundationNetworking's own initialiser of URLSession. \
        Its transfers would end with this process. In a file with 'import FoundationNetworking', Swift prefers that \
        initialiser for URLSession(configuration:), and if delegate and delegateQueue are both optional variables. \
        Remove that import \
        ('import Nightshift' also imports FoundationNetworking), or write \
        'BackgroundURLSession(configuration: configuration, delegate: delegate, delegateQueue: delegateQueue)'.
        """
    }
    static let webSocket = "WebSocket tasks are not supported in background sessions."
}
