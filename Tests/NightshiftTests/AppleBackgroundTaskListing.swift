import NightshiftUIKit

/// The listing of Apple's article "Extending your app's background execution time" (row L2), unchanged except in two
/// places. A line break after a dot is removed, because the Swift compiler rejects it. `NSData` is replaced, because
/// Swift 6 on Linux does not allow sending Foundation's `NSData` to another thread. The class is unchecked, because the
/// article writes `backgroundTaskID` on two queues, one after the other.
final class DataSender: NSObject, @unchecked Sendable {
    var backgroundTaskID: UIBackgroundTaskIdentifier?
    private let send: @Sendable (Data) -> Void

    init(_ send: @escaping @Sendable (Data) -> Void) {
        self.send = send
    }

    func sendAppDataToServer(data: Data) { send(data) }

    // swift-format-ignore
    func sendDataToServer( data : Data ) {
       // Perform the task on a background queue.
       DispatchQueue.global().async {
          // Request the task assertion and save the ID.
          self.backgroundTaskID = UIApplication.shared.beginBackgroundTask (withName: "Finish Network Tasks") {
             // End the task if time expires.
             UIApplication.shared.endBackgroundTask(self.backgroundTaskID!)
             self.backgroundTaskID = UIBackgroundTaskInvalid
          }

          // Send the data synchronously.
          self.sendAppDataToServer( data: data)

          // End the task assertion.
          UIApplication.shared.endBackgroundTask(self.backgroundTaskID!)
          self.backgroundTaskID = UIBackgroundTaskInvalid
       }
    }
}
