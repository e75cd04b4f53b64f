interface Scheduler { command void taskLoop(); }
