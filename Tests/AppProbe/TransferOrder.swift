/// An order about a transfer that a probe makes and resumes.
package struct TransferOrder: Sendable, Codable {
    package var url: String
    package var session: String
    package var description: String
    /// The file of an upload. Nil means a download.
    package var source: String?
    /// Whether the probe deletes the file as soon as it has resumed the task.
    package var removesSource: Bool?
    package var priority: Float?
    /// The time in seconds between making the task and its earliest begin date.
    package var beginsIn: Double?
    /// The point at which the probe creates the task.
    package var point: Point

    package init(
        _ url: String, _ description: String, in session: String = "main", at point: Point = .launched
    ) {
        self.url = url
        self.description = description
        self.session = session
        self.point = point
    }
}
